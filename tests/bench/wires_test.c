/* A forecast's network times against values computed by hand. */
#include "bench/ranks.h"
#include "parallel/ranks.h"
#include <math.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void expect_near(double found, double expected)
{
    if (fabs(found - expected) > 1e-9 * fabs(expected))
        fail_msg("found %.12g; expected %.12g", found, expected);
}

static void networks_are_known_by_name_or_by_their_figures(void **state)
{
    (void)state;
    wire w[WIRES_MOST];
    int count;
    assert_int_equal(wires_parse("10GbE,IB,1Gbit@200us,2.5Mbit@1.5ms", w, &count), CORNU_OK);
    assert_int_equal(count, 4);
    assert_string_equal(w[0].name, "10GbE");
    assert_string_equal(w[1].name, "IB");
    expect_near(w[2].latency, 200e-6);
    expect_near(w[2].byte_seconds, 8e-9);
    expect_near(w[3].latency, 1.5e-3);
    expect_near(w[3].byte_seconds, 3.2e-6);
    assert_string_equal(w[3].name, "2.5Mbit@1.5ms");
}

static void what_is_no_network_is_refused_by_name(void **state)
{
    (void)state;
    static const char *const wrong[] = {"3GbE",
                                        "",
                                        "IB,",
                                        ",IB",
                                        "1Gbit",
                                        "1Gbit@",
                                        "1Gbit@2",
                                        "0Gbit@1us",
                                        "-1Gbit@1us",
                                        "1Gbit@1us x",
                                        "nanGbit@1us",
                                        "1Gbit@1us@",
                                        "infbit@1us",
                                        "1GB@1us",
                                        "1234567890123456789012345678Gbit@1us"};
    wire w[WIRES_MOST];
    int count;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(wires_parse(wrong[i], w, &count), CORNU_INVALID);
        assert_int_equal(strncmp(cornu_last_error(), "forecast: ", 10), 0);
    }
    assert_int_equal(wires_parse("IB,IB,IB,IB,IB,IB,IB,IB,IB,IB,IB,IB,IB,IB,IB,IB,IB", w, &count),
                     CORNU_INVALID);
}

/* latency 1, a byte 1: for n floats between two ranks, reduce-scatter and all-gather take 4 n. */
static const wire unit_wire = {.latency = 1, .byte_seconds = 1};

static void a_sum_of_one_bucket_is_its_messages_and_bytes(void **state)
{
    (void)state;
    expect_near(wire_sum_seconds(&unit_wire, 2, 100, 0), 1 + 2 + 400);
    expect_near(wire_sum_seconds(&unit_wire, 4, 100, 0), 2 + 4 + 600);
    expect_near(wire_sum_seconds(&unit_wire, 2, 100, 0.5), 1 + 2 + 500);
}

static void buckets_share_the_wire_and_hide_each_others_latency(void **state)
{
    (void)state;
    int64_t bucket = ranks_bucket(1), values = 6 * bucket;
    assert_int_equal(ranks_bucket(values), bucket);
    double sent = 4.0 * (double)bucket;
    /* The bytes of all, after the latency of the first. */
    expect_near(wire_sum_seconds(&unit_wire, 2, values, 0), 3 + 6 * sent);
    /* Only latency: the fifth bucket waits for the first. */
    const wire slow = {.latency = 1};
    expect_near(wire_sum_seconds(&slow, 2, values, 0), 1 + 2 + 2);
}

static void what_is_made_early_is_not_waited_for(void **state)
{
    (void)state;
    int64_t bucket = ranks_bucket(1);
    double sent = 4.0 * (double)bucket;
    shard_part parts[] = {{.count = bucket, .at = 0, .seconds = 10},
                          {.count = bucket, .at = bucket, .seconds = 10 + 3 * sent}};
    const shard_layout layout = {.parts = parts, .count = 2, .values = 2 * bucket};
    const lone_step step = {.made = 10 + 3 * sent, .applied = 7, .layout = &layout};
    expect_near(wire_wait_seconds(&unit_wire, 2, &step), 2 + sent); /* the second's */
    expect_near(wire_step_seconds(&unit_wire, 2, &step), 10 + 3 * sent + 7 + 2 + sent + 1);
    expect_near(wire_step_seconds(&unit_wire, 1, &step), 10 + 3 * sent + 7);
    parts[0].seconds = parts[1].seconds; /* all gradients exist only at the end */
    expect_near(wire_wait_seconds(&unit_wire, 2, &step), 2 + 2 * sent);
}

/* Half of the messages and bytes come before the update, of which each rank does its share, and the
   other half after it. */
static void a_divided_update_takes_a_part_and_the_weights_way_back(void **state)
{
    (void)state;
    shard_part part = {.count = 100, .seconds = 10};
    const shard_layout layout = {.parts = &part, .count = 1, .values = 100, .gradient_values = 100};
    const lone_step step = {.made = 10, .applied = 8, .layout = &layout, .divided = true};
    expect_near(wire_add_seconds(&unit_wire, 2, &step), 1 + 1 + 200);
    expect_near(wire_wait_seconds(&unit_wire, 2, &step), 1 + 200);
    expect_near(wire_step_seconds(&unit_wire, 2, &step), 10 + 201 + (4 + 1 + 200) + 1);
    expect_near(wire_step_seconds(&unit_wire, 4, &step), 10 + 302 + (2 + 2 + 300) + 2);
    expect_near(wire_step_seconds(&unit_wire, 1, &step), 18);
}

/* The gradients that a host's ranks read in each other's memory are not sent before the update. */
static void what_the_update_adds_is_not_sent(void **state)
{
    (void)state;
    shard_part part = {.count = 100, .seconds = 10};
    const shard_layout layout = {.parts = &part, .count = 1, .values = 100, .gradient_values = 100};
    const lone_step step = {
        .made = 10, .applied = 8, .layout = &layout, .divided = true, .rests = true};
    expect_near(wire_add_seconds(&unit_wire, 2, &step), 1);
    expect_near(wire_wait_seconds(&unit_wire, 2, &step), 0);
    expect_near(wire_step_seconds(&unit_wire, 2, &step), 10 + (4 + 1 + 200) + 1);
    expect_near(wire_wait_seconds(&unit_wire, 4, &step), 1 + 200); /* the first neighbour's */
}

static void gradients_as_bf16_are_half_the_bytes(void **state)
{
    (void)state;
    shard_part part = {.count = 100, .seconds = 10};
    const shard_layout layout = {.parts = &part, .count = 1, .values = 100, .gradient_values = 100};
    const lone_step step = {.made = 10, .applied = 8, .layout = &layout, .bf16 = true};
    expect_near(wire_wait_seconds(&unit_wire, 2, &step), 2 + 200);
    expect_near(wire_add_seconds(&unit_wire, 2, &step), 1 + 2 + 200);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(networks_are_known_by_name_or_by_their_figures),
        cmocka_unit_test(what_is_no_network_is_refused_by_name),
        cmocka_unit_test(a_sum_of_one_bucket_is_its_messages_and_bytes),
        cmocka_unit_test(buckets_share_the_wire_and_hide_each_others_latency),
        cmocka_unit_test(what_is_made_early_is_not_waited_for),
        cmocka_unit_test(a_divided_update_takes_a_part_and_the_weights_way_back),
        cmocka_unit_test(what_the_update_adds_is_not_sent),
        cmocka_unit_test(gradients_as_bf16_are_half_the_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
