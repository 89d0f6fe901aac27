/*
 * The page as it is written in src/export/html/, built in: an uninstalled binary
 * works, and the page needs no other file.
 */
#include "export/html_int.h"

#define ASSET(name, files)                                                                         \
	__asm__(".section .rodata\n"                                                               \
		".global sonde_html_" #name "_begin\n"                                             \
		".global sonde_html_" #name "_end\n"                                               \
		"sonde_html_" #name "_begin:\n" files "sonde_html_" #name "_end:\n"                \
		".byte 0\n"                                                                        \
		".previous\n");                                                                    \
	extern const char sonde_html_##name##_begin[] __attribute__((visibility("hidden")));       \
	extern const char sonde_html_##name##_end[] __attribute__((visibility("hidden")));         \
	struct sonde_str sonde_html__asset_##name(void)                                            \
	{                                                                                          \
		return (struct sonde_str){sonde_html_##name##_begin,                               \
			(size_t)((uintptr_t)sonde_html_##name##_end -                              \
				 (uintptr_t)sonde_html_##name##_begin)};                           \
	}

#define FILE_OF(name) ".incbin \"src/export/html/" name "\"\n"

ASSET(page, FILE_OF("page.html"))
ASSET(style, FILE_OF("style.css"))
/* In this order: each may use what stands before it. */
ASSET(script,
	FILE_OF("base.js") FILE_OF("model.js") FILE_OF("colour.js") FILE_OF("header.js")
		FILE_OF("icicle.js") FILE_OF("columns.js") FILE_OF("table.js") FILE_OF("entries.js")
			FILE_OF("panel.js") FILE_OF("roofline.js") FILE_OF("timeline.js")
				FILE_OF("ranks.js") FILE_OF("app.js"))
