/* What writing and reading model files agree on. */
#ifndef EXCHANGE_CHECKPOINT_ENTRIES_H
#define EXCHANGE_CHECKPOINT_ENTRIES_H

#define CHECKPOINT_FORMAT "cornu 1"
#define CHECKPOINT_WEIGHTS_FORMAT "cornu weights 1"
#define CHECKPOINT_BEST "callbacks/best/"
/* Bytes of an entry of the metadata but the recipe, which is bounded as every document. As a tree
   it takes up to 46 times as much. */
enum { ENTRY_BYTES_MAX = 4 << 20 };

#endif
