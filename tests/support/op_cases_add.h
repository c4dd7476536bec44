/* Several files fill the table of op_cases.h, by these functions. */
#ifndef SUPPORT_OP_CASES_ADD_H
#define SUPPORT_OP_CASES_ADD_H

#include "support/op_cases.h"

/* Append a case of this kind, whose shapes the caller sets; it may move with the next one. */
op_case *op_case_add(op_kind kind);
/* Its label: the operation, its first shape, and `more`. */
void op_case_label(op_case *c, const char *more);

/* Append the operations of the optimizer's step (op_cases_updates.c). */
void op_cases_add_updates(void);

static inline shape op_case_row(int64_t count)
{
    return (shape){1, {count}};
}

#endif
