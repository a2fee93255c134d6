import { GatewayError } from '../../core/errors.ts'
import { isErrorCode, toFailFields } from '../../core/rpc/error-codec.ts'
import { formatMetadata } from '../../core/rpc/metadata.ts'
import { SchemaError } from '../schema/schema-error.ts'

/** A typed error for the caller; undefined for an internal error. */
export function toTypedError(thrown: unknown): GatewayError | undefined {
  return isA(thrown, GatewayError) && findFault(thrown) === undefined ? thrown : undefined
}

/** Reason why a typed error is invalid, which can happen in untyped programs; undefined if it is valid. */
function findFault(error: GatewayError): string | undefined {
  try {
    const { code, message, headers } = error
    // An error must not have status 200 (specification: Errors 3).
    if (!isErrorCode(code)) return `the code of an error must be from 400 to 599, got ${code}`
    if (typeof message !== 'string')
      return `the detail of an error must be a string, got ${typeof message}`
    if (headers !== undefined) formatMetadata(toFailFields(headers))
    return undefined
  } catch (fault) {
    return `the headers of an error must be names and values: ${(fault as Error).message}`
  }
}

/** Message to log for a thrown value. */
export function describeThrown(thrown: unknown): string {
  if (isA(thrown, SchemaError)) return 'the response does not match its schema'
  if (isA(thrown, GatewayError)) return `handler failed: ${findFault(thrown)}`
  return 'handler failed'
}

/** Like `instanceof`, but tolerates proxies that throw. */
function isA<T>(value: unknown, kind: abstract new (...args: never[]) => T): value is T {
  try {
    return value instanceof kind
  } catch {
    return false
  }
}
