# Fake versions of CUPTI, of its sampling API and of NVML, and programs that call them. With these, tests/inject/ and
# tests/sample/ test the injected library and the sampler on machines without a GPU.
FAKES      := $(if $(NVTX_INC),$(if $(CUPTI_INC),$(BUILD)/fake/libcupti_fake.so $(BUILD)/fake/fake_cuda $(BUILD)/fake/fake_idle $(BUILD)/fake/fake_loop $(BUILD)/fake/fake_pc $(BUILD)/fake/fake_server)) $(if $(CUPTI_PM_INC),$(BUILD)/fake/libpm_fake.so $(BUILD)/fake/nvml/libnvidia-ml.so.1)
workloads: $(FAKES)

$(BUILD)/fake/libcupti_fake.so: $(wildcard tests/inject/cupti/*)
	@mkdir -p $(@D)
	$(INJ_CC) $(INJ_FLAGS) -shared -o $@ $(filter %.c,$^)

$(BUILD)/fake/nvml/libnvidia-ml.so.1: tests/sample/fake_nvml.c
	@mkdir -p $(@D)
	$(CC) -std=gnu17 $(WARN) $(WERROR) -O1 -fPIC -shared -o $@ $<

$(BUILD)/fake/libpm_fake.so: $(wildcard tests/sample/device/*)
	@mkdir -p $(@D)
	$(INJ_CC) -isystem src/sample/c_only $(INJ_FLAGS) -shared -o $@ $(filter %.c,$^)

$(BUILD)/fake/fake_idle: workloads/idle_causes.h
$(BUILD)/fake/fake_%: tests/inject/fake_%.c
	@mkdir -p $(@D)
	$(INJ_CC) -isystem $(NVTX_INC) -o $@ $< -pthread -ldl
