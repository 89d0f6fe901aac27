# sonde-mpi: `sonde report` by all processes of an MPI job. Nothing else needs MPI.
MPICC     ?= mpicc
MPI_SRC   := $(sort $(wildcard src/mpi/*.c))
# Builds one program per MPI compiler, so that tests/mpi/ can test all that a machine has.
MPICCS    := $(or $(notdir $(wildcard /usr/bin/mpicc.openmpi /usr/bin/mpicc.mpich)),$(notdir $(shell command -v mpicc)))
.PHONY: sonde-mpi mpi-programs
all: mpi-programs $(if $(shell command -v $(MPICC)),sonde-mpi)
sonde-mpi: $(BUILD)/sonde-mpi
mpi-programs: $(MPICCS:%=$(BUILD)/mpi-%/sonde-mpi)
$(BUILD)/sonde-mpi: $(BUILD)/mpi-$(notdir $(MPICC))/sonde-mpi
	cp $< $@

# $(call mpi_program,COMPILER): without -Wpedantic, which warns about MPI's own header.
define mpi_program
$(BUILD)/mpi-$(notdir $(1))/sonde-mpi: $(MPI_SRC:%.c=$(BUILD)/mpi-$(notdir $(1))/%.o) $(filter-out $(BUILD)/src/cli/main.o,$(CLI_OBJ)) $(BUILD)/rooms.a
	$(1) $$(CFLAGS) $$(LDFLAGS) -o $$@ $$^ $$(LIBS)

$(BUILD)/mpi-$(notdir $(1))/%.o: %.c
	@mkdir -p $$(@D)
	$(1) $$(CPPFLAGS) $$(filter-out -Wpedantic,$$(CFLAGS)) -MMD -MP -c -o $$@ $$<

-include $(MPI_SRC:%.c=$(BUILD)/mpi-$(notdir $(1))/%.d)
endef
$(foreach c,$(filter-out $(notdir $(MPICC)),$(MPICCS)) $(MPICC),$(eval $(call mpi_program,$(c))))
