import { GatewayError } from '../../core/errors.ts'

/** Id of the store's errors: the built-in service's name. */
export const STORE_ID = 'store'

/** 507: there is no room for what was to be written. Nothing of it was stored; reading goes on. */
export function storeFull(cause: unknown): GatewayError {
  return new GatewayError(STORE_ID, 507, 'the store is full: nothing was written', { cause })
}

/** 503: what keeps the records cannot be reached. */
export function storeUnavailable(cause: unknown): GatewayError {
  return new GatewayError(STORE_ID, 503, 'the store cannot be reached', { cause })
}

/** Another error of the store. */
export function rejectInput(code: number, detail: string): GatewayError {
  return new GatewayError(STORE_ID, code, detail)
}
