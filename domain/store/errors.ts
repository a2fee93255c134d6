import { GatewayError } from '../../core/errors.ts'

/** Id used in errors, which is the name of the built-in service. */
export const STORE_ID = 'store'

/** Returns a 507 error: the store is full. Nothing was written; reads still work. */
export function storeFull(cause: unknown): GatewayError {
  return new GatewayError(STORE_ID, 507, 'the store is full: nothing was written', { cause })
}

/** Returns a 503 error: the store is unavailable. */
export function storeUnavailable(cause: unknown): GatewayError {
  return new GatewayError(STORE_ID, 503, 'the store cannot be reached', { cause })
}

export function storeError(code: number, detail: string): GatewayError {
  return new GatewayError(STORE_ID, code, detail)
}
