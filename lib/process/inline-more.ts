import { setFlagsFromString } from 'node:v8'

/** Bytes of bytecode of a function that may be put into its callers, and of all that one caller takes in. V8's own: 460 and 920. */
const FUNCTION_MAX_BYTES = 1000
const CALLER_MAX_BYTES = 3000

/**
 * Lets the compiler put more functions of a request's path into each other: it is a chain of small ones, and V8's budget
 * ends in the midst of it. For programs that do nothing but serve, once they are ready: instructions of a request fall by
 * 2 to 5 %, while a start, whose functions run for a moment only, would take longer
 * (docs/decisions/2026-11-22-the-compiler-may-inline-more.md).
 */
export function inlineMore(): void {
  setFlagsFromString(`--max-inlined-bytecode-size=${FUNCTION_MAX_BYTES}`)
  setFlagsFromString(`--max-inlined-bytecode-size-cumulative=${CALLER_MAX_BYTES}`)
}
