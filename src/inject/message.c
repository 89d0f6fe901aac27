/* The rarer shapes of a message: new labels, wide ones, registered ones. */
#include "inject/message_int.h"

#include "base/str.h"

unsigned sonde_message__domain(nvtxDomainHandle_t handle)
{
	uintptr_t at = (uintptr_t)handle, base = (uintptr_t)sonde_inject.labels.domains;
	size_t n = (at - base) / sizeof(sonde_inject.labels.domains[0]);

	return at > base && n < MAX_DOMAINS ? (unsigned)n : 0;
}

static void find(struct message *m, unsigned kind)
{
	m->label = sonde_label__intern(kind, m->domain, m->text, m->n);
	if (unlikely(!m->label)) {
		count(&sonde_inject.nr_inline);
		if (m->n > SONDE_INLINE_LIMIT)
			m->n = SONDE_INLINE_LIMIT;
	}
}

void sonde_message__narrow(struct message *m, unsigned kind, const char *text)
{
	m->text = text ? text : "";
	m->n = strlen(m->text);
	if (unlikely(m->n > SONDE_LABEL_LIMIT)) {
		m->n = SONDE_LABEL_LIMIT;
		count(&sonde_inject.nr_cut);
	}
	find(m, kind);
}

static size_t put_utf8(char *to, uint32_t c)
{
	return sonde_utf8_encode(to, c > 0x10ffff || (c >= 0xd800 && c < 0xe000) ? 0xfffd : c);
}

/* `buf` holds WIDE_LIMIT bytes and must live as long as the message. */
void sonde_message__wide(struct message *m, unsigned kind, const wchar_t *text, char *buf)
{
	size_t n = 0;

	for (; text && *text; text++) {
		if (n + 5 > WIDE_LIMIT) {
			count(&sonde_inject.nr_cut);
			break;
		}
		n += put_utf8(buf + n, (uint32_t)*text);
	}
	buf[n] = '\0';
	m->text = buf;
	m->n = n;
	find(m, kind);
}

bool sonde_message__attributes_ok(const nvtxEventAttributes_t *a)
{
	return a && a->size >= sizeof(*a);
}

void sonde_message__of(
	struct message *m, struct thread *t, const nvtxEventAttributes_t *a, char *buf)
{
	struct label *e;

	if (!sonde_message__attributes_ok(a)) {
		sonde_message__narrow(m, SONDE_STRING_LABEL, "");
	} else if (a->messageType == NVTX_MESSAGE_TYPE_REGISTERED) {
		e = sonde_label__of_handle(a->message.registered);
		if (likely(e && e->domain == m->domain && e->kind == SONDE_STRING_LABEL))
			m->label = e;
		else
			sonde_message__narrow(m, SONDE_STRING_LABEL, e ? e->text : "");
	} else if (a->messageType == NVTX_MESSAGE_TYPE_ASCII) {
		message_label(m, t, a->message.ascii);
	} else if (a->messageType == NVTX_MESSAGE_TYPE_UNICODE) {
		sonde_message__wide(m, SONDE_STRING_LABEL, a->message.unicode, buf);
	} else {
		sonde_message__narrow(m, SONDE_STRING_LABEL, "");
	}
}
