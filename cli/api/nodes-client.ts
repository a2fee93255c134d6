import type { GatewayServer } from '../../platform/gateway/types.ts'
import { parseServiceError } from '../../sdk/errors.ts'
import { type SessionFlags, withSession } from '../session/session.ts'
import { CliError, EXIT } from '../ui/output.ts'
import { toUnreachable } from './admin-errors.ts'

type NodeMessage = Awaited<ReturnType<GatewayServer['nodes']['list']>>[number]

/** Client for the nodes of a running gateway. All functions throw {@link CliError}. */
export interface NodesClient {
  /** @param service service name; empty for all services in use */
  readonly list: (service: string) => Promise<readonly NodeMessage[]>
  /** @param force drain the node even if no other node is usable */
  readonly drain: (service: string, node: string, force: boolean) => Promise<NodeMessage>
  readonly restore: (service: string, node: string) => Promise<NodeMessage>
}

/** Calls the `api` service of a server. */
export function createServerNodes(flags: SessionFlags): NodesClient {
  const call = async <R>(endpoint: string, request: object): Promise<R> => {
    let result: R | undefined
    await withSession(flags, async (session) => {
      const { namespace } = session
      result = await session.call<R>('api', `Api.${endpoint}`, { namespace, ...request })
    })
    return result!
  }
  type Result = { readonly node: NodeMessage }
  return {
    list: async (service) =>
      (await call<{ nodes: readonly NodeMessage[] }>('Nodes', { service })).nodes,
    drain: async (service, node, force) =>
      (await call<Result>('Drain', { service, node, force })).node,
    restore: async (service, node) => (await call<Result>('Restore', { service, node })).node,
  }
}

/** Calls the admin server of `mx api`. @param url such as `http://127.0.0.1:8089` */
export function createAdminNodes(url: string, token: string, namespace: string): NodesClient {
  const send = async <R>(
    method: string,
    path: string,
    query: Readonly<Record<string, string>>,
  ): Promise<R> => {
    const response = await fetch(
      `${url}/nodes${path}?${new URLSearchParams({ namespace, ...query })}`,
      { method, ...(token !== '' && { headers: { authorization: `Bearer ${token}` } }) },
    ).catch((error) => {
      throw toUnreachable(url, error)
    })
    const text = await response.text()
    if (response.ok) return JSON.parse(text) as R
    const { message } = parseServiceError(text, 'admin', response.status)
    throw new CliError(message, {
      status: response.status === 401 ? EXIT.unauthorized : EXIT.serviceError,
    })
  }
  const change = async (path: string, query: Readonly<Record<string, string>>) =>
    (await send<{ node: NodeMessage }>('POST', path, query)).node
  return {
    list: async (service) =>
      (await send<{ nodes: readonly NodeMessage[] }>('GET', '', { service })).nodes,
    drain: (service, node, force) =>
      change('/drain', { service, node, ...(force && { force: 'true' }) }),
    restore: (service, node) => change('/restore', { service, node }),
  }
}
