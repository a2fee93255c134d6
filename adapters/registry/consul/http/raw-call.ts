import type { CallOptions } from './client.ts'

/** A request as the library's own calls make it. */
export interface RawCall {
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  readonly body?: Buffer
}

/** The members all calls of the library are made of. */
interface Library {
  readonly _get: (options: object) => Promise<unknown>
  readonly _put: (options: object) => Promise<unknown>
  readonly _defaults?: { readonly token?: string; readonly dc?: string }
}

/** A call the library has none for, or none that leaves its answer to an answer sink. */
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
