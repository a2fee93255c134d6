import { setFlagsFromString } from 'node:v8'

/** Heap growth between two full garbage collections, percent of the live heap. Default of V8: up to 300. */
const GROWTH_PERCENT = 50

/**
 * Runs full garbage collections when the heap has grown by half. For gateways, once they are ready: requests leave no garbage that only
 * a full collection frees, but the start does, which V8 would not collect for long
 * (docs/decisions/2026-11-26-a-gateway-collects-its-garbage-sooner.md).
 */
export function collectSooner(): void {
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`)
}
