/* The cells of recurrent layers, one unit at a time, as Keras has them. The including file defines
   what device/rules/activations.h asks for, and

     rule_activate(kind, alpha, x)           the activation's output
     rule_activate_back(kind, alpha, y, dy)  its gradient from the output y

   x, z, ... are what the products and biases give for a gate; `before` is the state of the step
   before. */

/* The cell's activation, and that of its gates. */
typedef struct recurrent_functions {
    int act, gate;
    rule_real act_alpha, gate_alpha;
} recurrent_functions;

RULE rule_real recurrent_act(recurrent_functions a, rule_real x)
{
    return rule_activate(a.act, a.act_alpha, x);
}

RULE rule_real recurrent_act_back(recurrent_functions a, rule_real y, rule_real dy)
{
    return rule_activate_back(a.act, a.act_alpha, y, dy);
}

RULE rule_real recurrent_gate(recurrent_functions a, rule_real x)
{
    return rule_activate(a.gate, a.gate_alpha, x);
}

RULE rule_real recurrent_gate_back(recurrent_functions a, rule_real y, rule_real dy)
{
    return rule_activate_back(a.gate, a.gate_alpha, y, dy);
}

/* ---- LSTM -------------------------------------------------------------------------------- */

/* The gates i, f and o, the candidate g, and the state c = f before + i g; or the gradients of
   their inputs. */
typedef struct lstm_cell {
    rule_real i, f, g, o, c;
} lstm_cell;

/* s: what the products give; *h = o act(c). */
RULE lstm_cell lstm_next(recurrent_functions a, lstm_cell s, rule_real before, rule_real *h)
{
    s.i = recurrent_gate(a, s.i);
    s.f = recurrent_gate(a, s.f);
    s.g = recurrent_act(a, s.g);
    s.o = recurrent_gate(a, s.o);
    s.c = s.f * before + s.i * s.g;
    *h = s.o * recurrent_act(a, s.c);
    return s;
}

/* dh: the gradient of h; *dc: that of c by the step after, which becomes that of `before`. */
RULE lstm_cell lstm_back(recurrent_functions a, lstm_cell s, rule_real before, rule_real dh,
                         rule_real *dc)
{
    rule_real y = recurrent_act(a, s.c);
    lstm_cell d;
    d.c = *dc + recurrent_act_back(a, y, dh * s.o);
    d.i = recurrent_gate_back(a, s.i, d.c * s.g);
    d.f = recurrent_gate_back(a, s.f, d.c * before);
    d.g = recurrent_act_back(a, s.g, d.c * s.i);
    d.o = recurrent_gate_back(a, s.o, dh * y);
    *dc = d.c * s.f;
    return d;
}

/* ---- GRU --------------------------------------------------------------------------------- */

/* h = z before + (1 - z) y with the candidate y */
RULE rule_real gru_next(rule_real z, rule_real y, rule_real before)
{
    return z * before + (1 - z) * y;
}

/* Gradients of the inputs of z and y, and of `before`, by the gradient dh of h. */
typedef struct gru_gradient {
    rule_real z, y, before;
} gru_gradient;

RULE gru_gradient gru_back(recurrent_functions a, rule_real z, rule_real y, rule_real before,
                           rule_real dh)
{
    gru_gradient d;
    d.z = recurrent_gate_back(a, z, dh * (before - y));
    d.y = recurrent_act_back(a, y, dh * (1 - z));
    d.before = dh * z;
    return d;
}
