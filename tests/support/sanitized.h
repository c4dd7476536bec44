/* Is this a sanitizer's build? It makes a program 5 to 20 times as slow and has memory of its own.
   A race or a wrong address shows with one of the sizes and thread counts that the release build
   tests. */
#ifndef SUPPORT_SANITIZED_H
#define SUPPORT_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

#endif
