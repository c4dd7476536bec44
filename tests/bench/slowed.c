/* cornu_slowed: the program with every step slowed by 10 %, for scripts/baseline_check.py. It is
   linked with session_step wrapped (tests/CMakeLists.txt); the product has no such hook. */
#include "base/clock.h"
#include "train/session.h"

static const double SLOWER = 0.10;

cornu_status __real_session_step(session *s, session_plan *plan, const sample_block *samples,
                                 const int64_t *index);
cornu_status __wrap_session_step(session *s, session_plan *plan, const sample_block *samples,
                                 const int64_t *index);
cornu_status __wrap_session_step(session *s, session_plan *plan, const sample_block *samples,
                                 const int64_t *index)
{
    double begin = clock_seconds();
    cornu_status status = __real_session_step(s, plan, samples, index);
    double end = begin + (1 + SLOWER) * (clock_seconds() - begin);
    while (clock_seconds() < end)
        ;
    return status;
}
