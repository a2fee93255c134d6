import { parseCount } from '../../args/count.ts'
import { type Command, defineCommand } from '../../command.ts'
import { type Session, sessionFlags, withSession } from '../../session/session.ts'
import { formatAs, OUTPUT_FLAGS, print, toFormat } from '../../ui/format.ts'
import { CliError } from '../../ui/output.ts'
import { formatTable } from '../../ui/table.ts'

interface Server {
  readonly id: string
  /** Address; empty if unknown. */
  readonly address: string
}

interface Route {
  readonly service: string
  readonly address: string
  /** Next server; empty for a local route. */
  readonly gateway: string
  readonly router: string
  readonly network: string
  readonly metric: number
  readonly link: string
}

/** A link opened by the server. */
interface Link extends Server {
  readonly state: string
  /** Last error; empty if the link is up. */
  readonly error: string
}

interface Status {
  readonly links: readonly Link[]
  /** Ids of the servers with a link to this one. */
  readonly listeners: readonly string[]
}

const NONE = 'n/a'
/** State of an unused link. */
const IDLE = 'asleep'
/** State of a link opened by the other server. */
const ACCEPTED = 'accepted'
/** Longer than the connect timeout for unreachable servers. */
const CONNECT_MS = 30_000

const command: Command = defineCommand({
  name: 'network',
  description: 'Show and create links between servers',
  sharesServiceName: true,
  flags: {
    '--depth <n>': 'nodes, graph: maximum number of links (default: all)',
    '--service <name>': 'routes: filter by service name',
    '--address <host:port>': 'routes: filter by address of the server that runs the service',
    '--gateway <host:port>': 'routes: filter by address of the next server',
    '--router <id>': 'routes: filter by id of the next server',
    '--network <name>': 'routes: filter by network name',
    ...OUTPUT_FLAGS,
    ...sessionFlags('Namespace of the call'),
  },
  examples: [
    'mx network connect 10.0.0.2:8081 10.0.0.3:8081',
    'mx network routes --service helloworld',
  ],
  subcommands: {
    nodes: (_, flags) =>
      withSession(flags, async ({ call }) => {
        const request = { depth: parseCount(flags.depth, 'depth') }
        const { nodes } = await call<{ nodes: Server[] }>('network', 'Network.Nodes', request)
        const rows = nodes.map(({ id, address }) => [id, address || NONE])
        await print(toFormat(flags), nodes, formatTable([['ID', 'ADDRESS'], ...rows], 0))
      }),
    connections: (_, flags) =>
      withSession(flags, async ({ call }) => {
        const { links, listeners } = await call<Status>('network', 'Network.Status', {})
        const opened = links.map(({ id, address, state, error }) => [
          ...[id || NONE, address || NONE],
          ...[state, error || NONE],
        ])
        const accepted = listeners.map((id) => [id, NONE, ACCEPTED, NONE])
        const rows = [['NODE', 'ADDRESS', 'STATE', 'ERROR'], ...opened, ...accepted]
        await print(toFormat(flags), { links, listeners }, formatTable(rows, 0))
      }),
    routes: (_, flags) =>
      withSession(flags, async (session) => {
        const { service, address, gateway, router, network } = flags
        const query = { service, address, gateway, router, network }
        const routes = await listAll<Route>(session, 'routes', { query })
        await print(toFormat(flags), routes, formatRoutes(routes))
      }),
    services: (_, flags) =>
      withSession(flags, async (session) => {
        const names = await listAll<string>(session, 'services', {})
        await print(toFormat(flags), names, names.map((name) => `${name}\n`).join(''))
      }),
    graph: (_, flags) =>
      withSession(flags, async ({ call }) => {
        const request = { depth: parseCount(flags.depth, 'depth') }
        const { root } = await call<{ root: object }>('network', 'Network.Graph', request)
        await print(toFormat(flags), root, await formatAs('json', root, ''))
      }),
    'connect <address>...': (addresses, flags) =>
      withSession(flags, async ({ call }) => {
        const format = toFormat(flags)
        const request = { nodes: addresses.map((address) => ({ address })) }
        type Reply = { readonly links: readonly Link[] }
        const { links } = await call<Reply>('network', 'Network.Connect', request, {
          timeoutMs: CONNECT_MS,
        })
        const linked = links.filter(({ error }) => error === '')
        const lines = linked.map(({ id, address }) => `linked with ${id} at ${address}\n`)
        await print(format, links, lines.join(''))
        const failed = links.filter(({ error }) => error !== '')
        if (failed.length === 0) return
        const reasons = failed.map(({ address, error }) => `cannot link with ${address}: ${error}`)
        const isRetrying = failed.some(({ state }) => state !== IDLE)
          ? ". The server retries; see 'mx network connections'"
          : ''
        throw new CliError(`${reasons.join('; ')}${isRetrying}`)
      }),
  },
})

export default command

async function listAll<T>(
  { call }: Session,
  kind: 'routes' | 'services',
  request: object,
): Promise<readonly T[]> {
  type Page = { readonly [K in typeof kind]?: readonly T[] } & { readonly next?: string }
  const endpoint = kind === 'routes' ? 'Network.Routes' : 'Network.Services'
  const all: T[] = []
  for (let after: string | undefined = ''; after !== undefined; ) {
    const page: Page = await call('network', endpoint, { ...request, after })
    all.push(...(page[kind] ?? []))
    after = page.next
  }
  return all
}

function formatRoutes(routes: readonly Route[]): string {
  const headings = ['SERVICE', 'ADDRESS', 'GATEWAY', 'ROUTER', 'NETWORK', 'METRIC', 'LINK']
  const rows = routes.map(({ service, address, gateway, router, network, metric, link }) => [
    ...[service, address || NONE, gateway || NONE, router, network, String(metric), link],
  ])
  return formatTable([headings, ...rows], 0)
}
