# make install, make uninstall: PREFIX=/usr/local DESTDIR= LIBFOLDER=lib (the folder of libsonde below PREFIX)
LIBFOLDER ?= lib
SHARE := $(DESTDIR)$(PREFIX)/share
DATA  := $(SHARE)/sonde
DOC   := $(SHARE)/doc/sonde
MAN   := $(SHARE)/man/man1
# The manual and the completions are made from the same tables of options as --help.
COMMANDS = $(shell $(BUILD)/sonde --help=table | cut -f1)

LIBDIR := $(DESTDIR)$(PREFIX)/$(LIBFOLDER)
INCDIR := $(DESTDIR)$(PREFIX)/include

install: all install-lib
	install -Dm755 $(BUILD)/sonde $(DESTDIR)$(PREFIX)/bin/sonde
	install -d $(DATA) $(DOC) $(MAN)
	@if [ -f $(BUILD)/sonde-mpi ]; then install -m755 $(BUILD)/sonde-mpi $(DESTDIR)$(PREFIX)/bin/; $(BUILD)/sonde-mpi --help=man >$(MAN)/sonde-mpi.1; fi
	umask 022; for c in '' $(COMMANDS); do $(BUILD)/sonde $$c --help=man >$(MAN)/sonde$${c:+-}$$c.1 || exit 1; done
	install -d $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d
	umask 022; scripts/completions $(BUILD)/sonde bash >$(SHARE)/bash-completion/completions/sonde
	umask 022; scripts/completions $(BUILD)/sonde zsh >$(SHARE)/zsh/site-functions/_sonde
	umask 022; scripts/completions $(BUILD)/sonde fish >$(SHARE)/fish/vendor_completions.d/sonde.fish
	install -m644 schema/*.json $(DATA)/
	install -m644 README.md LICENSE docs/*.md $(DOC)/
	install -d $(DOC)/img && install -m644 docs/img/*.png $(DOC)/img/
	@if [ -f conf/config.yaml ]; then cd conf && find . -name '*.yaml' -exec install -Dm644 {} $(DATA)/conf/{} \; ; fi
	@if [ -f $(BUILD)/libsonde_inject.so ]; then install -Dm755 $(BUILD)/libsonde_inject.so $(DESTDIR)$(PREFIX)/lib/sonde/libsonde_inject.so; fi
	@if [ -f $(BUILD)/python/libsonde_modules.so ]; then install -Dm755 $(BUILD)/python/libsonde_modules.so $(DESTDIR)$(PREFIX)/lib/sonde/python/libsonde_modules.so && install -m644 $(BUILD)/python/sitecustomize.py $(DESTDIR)$(PREFIX)/lib/sonde/python/; fi
	@for w in resnet resnet_cpu; do if [ -f $(BUILD)/workloads/$$w ]; then install -Dm755 $(BUILD)/workloads/$$w $(DESTDIR)$(PREFIX)/lib/sonde/workloads/$$w; fi; done

.PHONY: install-lib uninstall
install-lib: lib
	install -d $(LIBDIR)/pkgconfig $(INCDIR)
	install -m755 $(BUILD)/libsonde.so $(LIBDIR)/libsonde.so.$(VERSION)
	ln -sf libsonde.so.$(VERSION) $(LIBDIR)/$(SONAME)
	ln -sf $(SONAME) $(LIBDIR)/libsonde.so
	install -m644 $(BUILD)/libsonde.a $(LIBDIR)/
	install -m644 $(BUILD)/sonde.pc $(LIBDIR)/pkgconfig/
	install -m644 include/*.h $(INCDIR)/

# Removes the folders that only sonde uses; folders that it shares with other programs stay.
uninstall:
	rm -rf $(DATA) $(DOC) $(DESTDIR)$(PREFIX)/lib/sonde
	rm -f $(DESTDIR)$(PREFIX)/bin/sonde $(DESTDIR)$(PREFIX)/bin/sonde-mpi $(MAN)/sonde.1 $(MAN)/sonde-*.1
	rm -f $(SHARE)/bash-completion/completions/sonde $(SHARE)/zsh/site-functions/_sonde $(SHARE)/fish/vendor_completions.d/sonde.fish
	rm -f $(LIBDIR)/libsonde.so $(LIBDIR)/$(SONAME) $(LIBDIR)/libsonde.so.$(VERSION) $(LIBDIR)/libsonde.a $(LIBDIR)/pkgconfig/sonde.pc
	rm -f $(addprefix $(INCDIR)/,$(notdir $(wildcard include/*.h)))
