import type { CallOptions } from './client.ts'

export interface RawCall {
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: Buffer
}

/** Internal library methods that all public methods use. */
interface Library {
  readonly _get: (options: object) => Promise<unknown>
  readonly _put: (options: object) => Promise<unknown>
  readonly _defaults?: { readonly token?: string; readonly dc?: string }
}

/** Sends a request that the library does not support at all, or only without a response sink. */
export function callRaw(
  consul: unknown,
  method: 'get' | 'put',
  { query, ...request }: RawCall,
  call: CallOptions,
): Promise<unknown> {
  const library = consul as Library
  const { token, dc } = library._defaults ?? {}
  return library[`_${method}`]({
    ...request,
    query: { ...(dc !== undefined && { dc }), ...query },
    headers: token === undefined ? {} : { 'x-consul-token': token },
    ...call,
  })
}
