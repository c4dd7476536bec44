# The steps of ./check and what each waits for. `check` runs this file with make, one step more at a time than there
# are cores, and builds share make's job slots. scripts/check_step.sh knows what a step does; one that fails does not end
# the others.
fast := build quiet tests python format scripts
all := build quiet peers-environment asan plugins tsan tests peers-python asan-python peers-fixtures peers-guides \
    peers-training bundle python arm64 peers-tensorboard peers-onnx peers-torch packages valgrind format scripts
slow := build peers-environment slow-tests mutations peers-scripts interrupts drivers fuzzing all-architectures quickstart wheel
steps := $(sort $(fast) $(all) $(slow))

.PHONY: fast-steps all-steps slow-steps $(steps)
fast-steps: $(fast)
all-steps: $(all)
slow-steps: $(slow)

# The tests that measure this machine have it for themselves: whatever else there is waits for them.
quiet: build
asan tests python valgrind plugins packages bundle arm64 tsan slow-tests mutations interrupts drivers \
    fuzzing all-architectures quickstart wheel: quiet
peers-fixtures peers-training peers-python peers-tensorboard peers-onnx peers-torch \
    peers-guides peers-scripts: quiet peers-environment
asan-python: asan

$(steps):
	+@CHECK_NEEDS="$^" scripts/check_step.sh $@
