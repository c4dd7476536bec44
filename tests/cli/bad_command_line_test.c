/* A wrong command line gives one clear line, the right status, and leaves nothing behind. */
#include "support/made.h"
#include "support/program.h"
#include "support/scratch.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

typedef struct bad_case {
    const char *arguments[10];
    int status;
    const char *says;
} bad_case;

/* clang-format off */
static const bad_case cases[] = {
    {{"frobnicate"}, 2, "frobnicate: unknown command"},
    {{"trian"}, 2, "did you mean train?"},
    {{"--frob"}, 2, "--frob: unknown option"},
    {{"--version", "more"}, 2, "more"},
    {{"help", "nothing"}, 2, "nothing"},
    {{"train"}, 2, "expected a RECIPE or WORKLOAD"},
    {{"train", "no-such-workload"}, 1, "no-such-workload"},
    {{"train", "two\nlines"}, 1, "two"},
    {{"train", "missing.yaml"}, 1, "missing.yaml"},
    {{"train", "mnist-cnn-2", "extra"}, 2, "\"extra\" too many"},
    {{"train", "mnist-cnn-2", "--epochs"}, 2, "--epochs: found nothing; expected N"},
    {{"train", "mnist-cnn-2", "--epochs", "0"}, 2, "--epochs: found \"0\""},
    {{"train", "mnist-cnn-2", "--epochs", "many"}, 2, "found \"many\"; expected a whole number"},
    {{"train", "mnist-cnn-2", "--epochs=-3"}, 2, "found \"-3\""},
    {{"train", "mnist-cnn-2", "--epochs", "1.5"}, 2, "found \"1.5\""},
    {{"train", "mnist-cnn-2", "--batch", "0"}, 2, "--batch: found \"0\""},
    {{"train", "mnist-cnn-2", "--steps", "99999999999999999999"}, 2, "--steps"},
    {{"train", "mnist-cnn-2", "--threads", "0"}, 2, "--threads: found \"0\"; expected a whole number from 1 to"},
    {{"train", "mnist-cnn-2", "--seed", ""}, 2, "--seed: found \"\""},
    {{"train", "mnist-cnn-2", "--epoch", "3"}, 2, "did you mean --epochs?"},
    {{"train", "mnist-cnn-2", "--batch-size", "3"}, 2, "did you mean --batch?"},
    {{"train", "mnist-cnn-2", "--title", "a"}, 2, "--title: unknown option (see"},
    {{"train", "mnist-cnn-2", "--rate", "1"}, 2, "--rate: unknown option (see"},
    {{"train", "mnist-cnn-2", "--load", "a"}, 2, "--load: unknown option (see"},
    {{"train", "mnist-cnn-2", "--save", "--quiet"}, 2, "--save: found nothing; expected FILE"},
    {{"train", "mnist-cnn-2", "--quiet=yes"}, 2, "expected no value"},
    {{"train", "mnist-cnn-2", "--save", ""}, 2, "--save"},
    {{"train", "mnist-cnn-2", "--save", "no/such/folder/m.safetensors"}, 1, "No such file or directory"},
    {{"train", "mnist-cnn-2", "--save", "."}, 1, "Is a directory"},
    {{"train", "mnist-cnn-2", "--log", "no/such/folder/l.csv"}, 1, "l.csv: cannot write"},
    {{"train", "mnist-cnn-2", "--device", "tpu"}, 2, "there are: cpu"},
    {{"train", "mnist-cnn-2", "--device", "cuda:99"}, 2, "--device cuda:99: no"}, /* such, or: not available */
    {{"train", "mnist-cnn-2", "--log-steps"}, 2, "--log FILE"},
    {{"train", "mnist-cnn-2", "--init", "a.npz", "--resume", "b.safetensors"}, 2, "--init and --resume"},
    {{"train", "mnist-cnn-2", "--seed", "2", "--resume", "b.safetensors"}, 2, "--seed and --resume"},
    {{"train", "mnist-cnn-2", "--learning-rate", "2", "--resume", "b.safetensors"}, 2, "--learning-rate and --resume"},
    {{"train", "mnist-cnn-2", "--learning-rate", "0"}, 2, "--learning-rate: found \"0\"; expected a number above 0"},
    {{"train", "mnist-cnn-2", "--learning-rate", "0x1"}, 2, "found \"0x1\"; expected a number above 0"},
    {{"train", "mnist-cnn-2", "--learning-rate", "1e999"}, 2, "found \"1e999\"; expected a number above 0"},
    {{"train", "mnist-cnn-2", "--jobs", "2"}, 2, "found --jobs alone; expected --sweep, too"},
    {{"train", "--sweep", "seed=1,2"}, 2, "expected a RECIPE or WORKLOAD"},
    {{"train", "--sweep", "seed=1,2", "--resume", "b.safetensors"}, 2, "expected a RECIPE or WORKLOAD"},
    {{"train", "mnist-cnn-2", "--sweep"}, 2, "--sweep: found nothing; expected KEY=LIST"},
    {{"train", "mnist-cnn-2", "--sweep", "sead=1,2"}, 2, "--sweep: found \"sead\"; did you mean seed?"},
    {{"train", "mnist-cnn-2", "--sweep", "rho=0.9"}, 2, "expected epochs, batch, steps, shards, seed or learning_rate, =, and values"},
    {{"train", "mnist-cnn-2", "--sweep", "seed"}, 2, "--sweep seed: found \"\"; expected whole numbers from 1"},
    {{"train", "mnist-cnn-2", "--sweep", "seed="}, 2, "--sweep seed: found \"\""},
    {{"train", "mnist-cnn-2", "--sweep", "seed=1,,2"}, 2, "--sweep seed: found \"\""},
    {{"train", "mnist-cnn-2", "--sweep", "seed=1.5"}, 2, "--sweep seed: found \"1.5\""},
    {{"train", "mnist-cnn-2", "--sweep", "seed=0..3"}, 2, "--sweep seed: found \"0..3\""},
    {{"train", "mnist-cnn-2", "--sweep", "seed=3..1"}, 2, "--sweep seed: found \"3..1\"; expected"},
    {{"train", "mnist-cnn-2", "--sweep", "seed=1..1001"}, 2, "--sweep seed: found more than 1000 values"},
    {{"train", "mnist-cnn-2", "--sweep", "seed=1..100", "--sweep", "batch=1..11"}, 2, "found 1100 runs; expected at most 1000"},
    {{"train", "mnist-cnn-2", "--sweep", "learning_rate=0.1,-1"}, 2, "--sweep learning_rate: found \"-1\"; expected numbers above 0"},
    {{"train", "mnist-cnn-2", "--sweep", "learning_rate=1..3"}, 2, "--sweep learning_rate: found \"1..3\""},
    {{"train", "mnist-cnn-2", "--sweep", "learning_rate=0.1,0.10"}, 2, "--sweep learning_rate: found 0.10 twice"},
    {{"train", "mnist-cnn-2", "--sweep", "batch=1", "--sweep", "batch_size=2"}, 2, "--sweep batch: found it twice"},
    {{"train", "mnist-cnn-2", "--sweep", "seed=1,2", "--seed", "3"}, 2, "found --seed and --sweep of it"},
    {{"train", "mnist-cnn-2", "--sweep", "seed=1,2", "--plot"}, 2, "found --plot and --sweep"},
    {{"train", "mnist-cnn-2", "--sweep", "seed=1,2", "--log", "l.csv", "--log-steps"}, 2, "found --log-steps and --sweep"},
    {{"train", "mnist-cnn-2", "--sweep", "seed=1,2", "--cache", "file"}, 2, "found --cache file and --sweep"},
    {{"train", "mnist-cnn-2", "--sweep", "seed=1", "--save", "a.h5", "--resume", "b.h5"}, 2, "found --save and --resume"},
    {{"train", "mnist-cnn-2", "--sweep", "seed=1,2", "--save", "no/such/m.safetensors"}, 1, "No such file or directory"},
    {{"train", "mnist-cnn-2", "--sweep", "seed=1,2", "--data", "missing-folder"}, 1, "missing-folder"},
    {{"train", "missing.yaml", "--sweep", "seed=1,2"}, 1, "missing.yaml"},
    {{"train", "mnist-cnn-2", "--init", "missing.npz"}, 1, "missing.npz"},
    {{"train", "mnist-cnn-2", "--resume", "missing.safetensors"}, 1, "missing.safetensors"},
    {{"train", "mnist-cnn-2", "--data", "missing-folder"}, 1, "missing-folder"},
    {{"train", "mnist-cnn-2", "--names", "torch"}, 2, "found --names alone; expected --init FILE, too"},
    {{"train", "mnist-cnn-2", "--init", "a.safetensors", "--names", "jax"}, 1, "found jax; expected torch"},
    {{"convert"}, 2, "found nothing; expected two files, IN and OUT"},
    {{"convert", "a.keras"}, 2, "found \"a.keras\" alone; expected two files, IN and OUT"},
    {{"convert", "missing.keras", "b.pb"}, 2, "b.pb: found another name; expected one that ends in .safetensors"},
    {{"convert", "missing.keras", "no/such/b.keras"}, 1, "no/such/b.keras: cannot write: No such file or directory"},
    {{"evaluate"}, 2, "expected one MODEL"},
    {{"evaluate", "mnist-cnn-2"}, 2, "expected a model file"},
    {{"evaluate", "missing.safetensors"}, 1, "missing.safetensors"},
    {{"evaluate", "missing.safetensors", "--device", "tpu"}, 2, "--device tpu"},
    {{"predict", "missing.safetensors"}, 1, "missing.safetensors"},
    {{"predict", "missing.safetensors", "a.png", "--data", "mnist"}, 2, "--data and \"a.png\""},
    {{"predict", "missing.safetensors", "a.png", "--csv", "-", "--json", "-"}, 2, "found --csv and --json"},
    {{"predict", "missing.safetensors", "a.png", "--csv", "no/such/b.csv"}, 1, "no/such/b.csv: cannot write"},
    {{"predict", "missing.safetensors", "a.png", "--top", "0"}, 2, "--top"},
    {{"predict", "missing.safetensors", "a.png", "--count", "2"}, 2, "--count: found images"},
    {{"predict", "missing.safetensors", "--data", "mnist", "--count", "0"}, 2, "--count: found \"0\""},
    {{"predict", "missing.safetensors", "a.png"}, 1, "missing.safetensors"},
    {{"summary"}, 2, "expected one RECIPE"},
    {{"summary", "nothing"}, 1, "nothing"},
    {{"summary", "mnist-cnn-2", "mnist-cnn-4"}, 2, "too many"},
    {{"explain", "mnist-cnn-2", "--device", "tpu"}, 2, "--device tpu"},
    {{"explain", "nothing"}, 1, "nothing"},
    {{"explain", "mnist-cnn-2", "--ranks", "3"}, 1, "ranks: found 3"},
    {{"explain", "mnist-cnn-2", "--shard-optimizer"}, 1, "found shard-optimizer for one rank"},
    {{"explain", "mnist-cnn-2", "--rnu"}, 2, "did you mean --run?"},
    {{"tune"}, 2, "found no --device"},
    {{"tune", "--device", "tpu"}, 2, "--device tpu"},
    {{"tune", "--device", "cpu", "--quikc"}, 2, "did you mean --quick?"},
    {{"tune", "--device", "cpu", "--rounds", "16"}, 2, "from 1 to 15"},
    {{"devices", "cpu"}, 2, "expected only options"},
    {{"devices", "--jsn"}, 2, "did you mean --json?"},
    {{"data", "lst"}, 2, "did you mean list?"},
    {{"data", "get"}, 2, "found no NAME"},
    {{"data", "get", "mnits"}, 1, "did you mean mnist?"},
    {{"data", "get", "mnist", "too"}, 2, "\"too\" too many"},
    {{"data", "show", "nothing"}, 1, "unknown data set"},
    {{"data", "show", "mnist", "first"}, 2, "INDEX: found \"first\""},
    {{"data", "list", "--png", "a.png"}, 2, "--png goes with show"},
    {{"data", "get", "mnist", "--augment", "r.yaml"}, 2, "--augment goes with show; found get"},
    {{"data", "show", "mnist", "--augment", "r.yaml"}, 2, "--augment: found no --png; expected a FILE"},
    {{"data", "show", "mnist", "--seed", "2"}, 2, "--seed: found no --augment; expected a RECIPE"},
    {{"data", "show", ".", "--augment", "missing.yaml", "--png", "a.png"}, 1, "missing.yaml"},
    {{"data", "show", "mnist", "--png", "no/such/a.png"}, 1, "cannot write"},
    {{"data", "get", "mnist", "--split", "test"}, 2, "--split goes with show; found get"},
    {{"data", "show", "mnist", "--split", "both"}, 2, "--split: found \"both\"; expected train or test"},
    {{"version", "all"}, 2, "expected only options"},
    {{"env", "all"}, 2, "expected only options"},
    {{"bench", "cifar10-mpl"}, 2, "did you mean cifar10-mlp?"},
    {{"bench", "--device", "tpu"}, 2, "--device tpu"},
    {{"bench", "--steps", "0"}, 2, "--steps"},
    {{"bench", "--batch", "x"}, 2, "--batch"},
    {{"bench", "--json", "no/such/b.json"}, 1, "b.json: cannot write"},
    {{"bench", "--data", "missing-folder"}, 1, "missing-folder"},
    {{"bench", "--data", "."}, 1, ".: found no data set; expected "},
    {{"bench", "mnist-cnn-2", "photos-cnn", "--data", "."}, 1, ".: found no data set; expected mnist"},
    {{"train", "mnist-cnn-2", "--data", "."}, 1, ".: found no data set; expected mnist: IDX files"},
};
/* clang-format on */

static void each_bad_command_line_gives_one_line_and_leaves_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const bad_case *c = &cases[i];
        program p = program_run(c->arguments);
        bool right = p.status == c->status && count_lines(p.err) == 1 &&
                     strncmp(p.err, "cornu: ", 7) == 0 && strstr(p.err, c->says) && *p.out == 0 &&
                     scratch_count() == 0;
        if (!right) {
            print_error(
                "case %zu: cornu %s %s ...: status %d, expected %d; wrote \"%s\" and \"%s\", "
                "expected \"%s\"; %d files left\n",
                i, c->arguments[0], c->arguments[1] ? c->arguments[1] : "", p.status, c->status,
                p.err, p.out, c->says, scratch_count());
            fail();
        }
        program_free(&p);
    }
}

static void no_command_prints_the_usage_and_fails(void **state)
{
    (void)state;
    program p = program_run((const char *const[]){NULL});
    assert_int_equal(p.status, 2);
    assert_non_null(strstr(p.out, "usage: cornu"));
    program_free(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_bad_command_line_gives_one_line_and_leaves_nothing,
                                        made_open, scratch_close),
        cmocka_unit_test_setup_teardown(no_command_prints_the_usage_and_fails, made_open,
                                        scratch_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
