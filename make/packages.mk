# make tarball, wheel, deb: packages under build/packages/. docs/packages.md explains them and how they were checked.
#
# Tarball and wheel contain the same files. They are linked statically, except for libc, so that they run on machines without the
# libraries in PKGS. The Debian package links Debian's libraries. The same source gives the same bytes: packages contain no path
# of the build machine, and no time but the day of the version.
PACKAGES  ?= build/packages
RELEASE   := $(PACKAGES)/build
RELEASE_OPT ?= -O2
ARCH      := $(shell uname -m)
NAME      := sonde-$(VERSION)
# The day of the version, from CHANGELOG.md.
ifndef SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH := $(shell date -u -d "$$(sed -n 's/^\#\# $(VERSION), //p' CHANGELOG.md)" +%s)
endif
export SOURCE_DATE_EPOCH
TARBALL   := $(PACKAGES)/$(NAME)-linux-$(ARCH).tar.gz
STAGE     := $(PACKAGES)/$(NAME)
HERE      := $(CURDIR)

.PHONY: tarball wheel deb stage
# sonde-mpi is left out: it belongs to the machine's MPI.
stage:
	$(MAKE) --no-print-directory BUILD=$(RELEASE) STATIC=1 MPICC=none MPICCS= \
		OPT="$(RELEASE_OPT) -g0 -ffile-prefix-map=$(HERE)=." INJ_OPT="$(RELEASE_OPT) -g0 -ffile-prefix-map=$(HERE)=." all
	rm -rf $(STAGE)
	$(MAKE) --no-print-directory -s -o all BUILD=$(RELEASE) MPICCS= PREFIX= DESTDIR=$(HERE)/$(STAGE) install
	strip --strip-unneeded $(STAGE)/bin/sonde $(STAGE)/lib/libsonde.so.$(VERSION) $(STAGE)/lib/sonde/*.so $(STAGE)/lib/sonde/python/*.so
	strip $(STAGE)/lib/sonde/workloads/*
	scripts/oldest-glibc $(STAGE)/bin/sonde $(STAGE)/lib/libsonde.so $(STAGE)/lib/sonde/*.so >$(PACKAGES)/glibc
	@echo "needs glibc $$(cat $(PACKAGES)/glibc) or newer, and no other library"

tarball: stage
	install -m644 LICENSE README.md CHANGELOG.md $(STAGE)/
	tar -C $(PACKAGES) --sort=name --mtime=@$(SOURCE_DATE_EPOCH) --owner=0 --group=0 --numeric-owner --mode=go-w -cf - $(NAME) | gzip -9n >$(TARBALL)
	@echo $(TARBALL)

wheel: stage
	rm -f $(PACKAGES)/*.whl
	scripts/make-wheel $(STAGE) $(VERSION) "$$(cat $(PACKAGES)/glibc)" $(PACKAGES)

# Built as in Debian: from the source only, by dpkg-buildpackage (debhelper).
deb:
	rm -rf $(PACKAGES)/deb && mkdir -p $(PACKAGES)/deb/$(NAME)
	tar --exclude=./build --exclude=./tmp --exclude=./.git -cf - . | tar -C $(PACKAGES)/deb/$(NAME) -xf -
	mv $(PACKAGES)/deb/$(NAME)/packaging/debian $(PACKAGES)/deb/$(NAME)/debian
	cd $(PACKAGES)/deb/$(NAME) && dpkg-buildpackage -us -uc -b --build-by="$$(sed -n 's/^ -- \(.*>\) .*/\1/p;' debian/changelog | head -1)"
	cd $(PACKAGES)/deb && lintian --fail-on warning,error ./*.changes
	@ls $(PACKAGES)/deb/*.deb
