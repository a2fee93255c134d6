import { DEFAULT_NAMESPACE } from '../../../sdk/namespace.ts'
import { createAdminNodes, createServerNodes, type NodesClient } from '../../api/nodes-client.ts'
import { type Command, defineCommand } from '../../command.ts'
import { sessionFlags } from '../../session/session.ts'
import { OUTPUT_FLAGS, print, toFormat } from '../../ui/format.ts'
import { usageError } from '../../ui/output.ts'
import { formatTable } from '../../ui/table.ts'

type Node = Awaited<ReturnType<NodesClient['list']>>[number]

const HEADINGS = [
  ...['SERVICE', 'NODE', 'ADDRESS', 'ZONE', 'STATE', 'IN FLIGHT', 'CONNECTIONS', 'LATENCY'],
]
const NONE = '-'

const command: Command = defineCommand({
  name: 'nodes',
  description: 'Show, drain and restore the nodes of services',
  usage: '[service] | drain <service> <node> | restore <service> <node>',
  flags: {
    '--admin <host:port>': 'Admin address of a gateway without a server (mx api)',
    '--admin_token <token>':
      'Admin token of that gateway, required for drain and restore (default: MX_ADMIN_TOKEN)',
    '--force': 'drain: drain the node even if no other node is usable',
    ...OUTPUT_FLAGS,
    ...sessionFlags('Namespace of the services'),
  },
  examples: ['mx nodes shop', 'mx nodes drain shop 10.0.0.1:80 --admin 127.0.0.1:8089'],
  summaries: {
    '': 'Show the nodes of the services in use',
    drain: 'Send no new requests to a node until it is restored or the gateway restarts',
    restore: 'Send requests to a drained node again',
  },
  subcommands: {
    '[service]': async ([service = ''], flags) => {
      const format = toFormat(flags)
      const nodes = await openClient(flags).list(service)
      await print(format, nodes, formatTable([HEADINGS, ...nodes.map(toRow)], 0))
    },
    'drain <service> <node>': async ([service, node], flags) => {
      const format = toFormat(flags)
      const drained = await openClient(flags).drain(service, node, flags.force === true)
      const { id, in_flight } = drained
      await print(format, drained, `drained ${id}; ${in_flight} requests in flight\n`)
    },
    'restore <service> <node>': async ([service, node], flags) => {
      const format = toFormat(flags)
      const restored = await openClient(flags).restore(service, node)
      await print(format, restored, `restored ${restored.id}; state ${restored.state}\n`)
    },
  },
})

export default command

function openClient(flags: {
  readonly admin?: string
  readonly admin_token?: string
  readonly env?: string
  readonly namespace?: string
}): NodesClient {
  const { admin, admin_token: token = process.env['MX_ADMIN_TOKEN'] ?? '' } = flags
  if (admin === undefined) return createServerNodes(flags)
  if (flags.env !== undefined) throw usageError('nodes', '--admin cannot be combined with --env')
  if (!/^[^/\s]+:\d+$/.test(admin))
    throw usageError('nodes', `Invalid --admin: ${admin}, must be <host>:<port>`)
  return createAdminNodes(`http://${admin}`, token, flags.namespace ?? DEFAULT_NAMESPACE)
}

function toRow(node: Node): readonly string[] {
  const { service, id, address, zone, state, ejected_until: until, latency_ms: latency } = node
  const seconds = until === undefined ? 0 : Math.max(0, Math.ceil((until - Date.now()) / 1000))
  return [
    ...[service, id, address, zone || NONE],
    state === 'ejected' ? `ejected (${seconds} s)` : state,
    ...[String(node.in_flight), String(node.connections)],
    latency === undefined ? NONE : `${latency} ms`,
  ]
}
