import { GatewayError } from '../../core/errors.ts'

/** Error id: the name of the built-in service. */
export const STORE_ID = 'store'

/** 507: the store is full. Nothing was written; reads continue. */
export function storeFull(cause: unknown): GatewayError {
  return new GatewayError(STORE_ID, 507, 'the store is full: nothing was written', { cause })
}

/** 503: the store is unavailable. */
export function storeUnavailable(cause: unknown): GatewayError {
  return new GatewayError(STORE_ID, 503, 'the store cannot be reached', { cause })
}

export function storeError(code: number, detail: string): GatewayError {
  return new GatewayError(STORE_ID, code, detail)
}
