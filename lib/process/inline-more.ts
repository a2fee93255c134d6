import { setFlagsFromString } from 'node:v8'

/** Limits of inlined bytecode per function and per caller. V8 defaults: 460 and 920. */
const FUNCTION_MAX_BYTES = 1000
const CALLER_MAX_BYTES = 3000

/**
 * Raises the inlining limits of the compiler, since the hot path is a chain of small functions that exceeds the V8
 * defaults. For servers, once they are ready: instructions per request fall by 2 to 5 %, but startup would take longer
 * (docs/decisions/2026-11-22-the-compiler-may-inline-more.md).
 */
export function inlineMore(): void {
  setFlagsFromString(`--max-inlined-bytecode-size=${FUNCTION_MAX_BYTES}`)
  setFlagsFromString(`--max-inlined-bytecode-size-cumulative=${CALLER_MAX_BYTES}`)
}
