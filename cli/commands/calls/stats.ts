import type { Node } from '../../../core/contracts/registry.ts'
import { isBuiltInService } from '../../../core/registry/built-in-services.ts'
import { formatDuration, formatSpan } from '../../../lib/text/units.ts'
import { type Command, defineCommand } from '../../command.ts'
import { listServices, mustFindService } from '../../session/find-services.ts'
import { formatLatency, formatShare, type Rate, readRates } from '../../session/rates.ts'
import { type Session, sessionFlags, withSession } from '../../session/session.ts'
import { OUTPUT_FLAGS, print, toFormat } from '../../ui/format.ts'
import { CliError, EXIT } from '../../ui/output.ts'
import { formatTable } from '../../ui/table.ts'

const HEADINGS = ['NODE', 'ADDRESS:PORT', 'STARTED', 'UPTIME', 'MEMORY', 'THREADS', 'GC']
const SERVICE_HEADINGS = ['SERVICE', 'VERSION', 'NODES', 'REQ/S', 'ERRORS', 'P50', 'P99']
const PROCESS_HEADINGS = ['ADDRESS:PORT', 'SERVICES', ...HEADINGS.slice(2)]
const NONE = '-'
/** Service names listed for each process. */
const MAX_NAMES = 3
const KINDS: Readonly<Record<string, (name: string) => boolean>> = {
  builtin: isBuiltInService,
  custom: (name) => !isBuiltInService(name),
}
/** Nodes that respond later are shown as unreachable. */
const TIMEOUT_MS = 2000
const NS_PER_MS = 1e6
const BYTES_PER_MB = 1024 ** 2

/** Response of `Debug.Stats`. */
interface Stats {
  /** Unix seconds. */
  readonly started: number
  /** Seconds. */
  readonly uptime: number
  /** Bytes. */
  readonly memory: number
  readonly threads: number
  /** Nanoseconds. */
  readonly gc: number
}

interface ServiceStats {
  readonly service: string
  readonly version: string
  readonly nodes: readonly NodeStats[]
}

interface NodeStats {
  readonly id: string
  readonly address: string
  /** Null if the node is unreachable or denies access. */
  readonly stats: Stats | null
}

const command: Command = defineCommand({
  name: 'stats',
  description: 'Show request rates and resource usage of services',
  usage: '[<service> ...]',
  flags: {
    '--all <builtin|custom>': 'Only platform services, or only user services (default: both)',
    ...OUTPUT_FLAGS,
    ...sessionFlags('Namespace of the services'),
  },
  examples: ['mx stats', 'mx stats helloworld -o json'],
  async run(words, flags) {
    const format = toFormat(flags)
    const isIncluded = flags.all === undefined ? () => true : KINDS[flags.all]
    if (isIncluded === undefined)
      throw new CliError(`--all must be builtin or custom, got ${flags.all}`, {
        status: EXIT.usage,
      })
    await withSession(flags, async (session) => {
      const services =
        words.length === 0
          ? await listServices(session)
          : (await Promise.all(words.map((name) => mustFindService(session, name)))).flat()
      const pending = services
        .filter(({ name }) => isIncluded(name))
        .map(async ({ name, version, nodes }) => ({
          ...{ service: name, version },
          nodes: await Promise.all(nodes.map((node) => readNode(session, name, node))),
        }))
      const stats = await Promise.all(pending)
      const text =
        format === 'text' && words.length === 0
          ? formatSummary(stats, await readRates(session))
          : stats.map(formatService).join('\n')
      await print(format, stats, text)
    })
  },
})

export default command

function formatService({ service, version, nodes }: ServiceStats): string {
  const table = formatTable([HEADINGS, ...nodes.map(toRow)], 0)
  return `SERVICE  ${service}\nVERSION  ${version}\n\n${table}`
}

/**
 * Formats the request rates of services over the last minute, user services first, followed by the processes that run
 * them.
 */
function formatSummary(
  services: readonly ServiceStats[],
  rates: ReadonlyMap<string, Rate>,
): string {
  const sorted = [...services].sort(
    (a, b) => Number(isBuiltInService(a.service)) - Number(isBuiltInService(b.service)),
  )
  const rows = sorted.map(({ service, version, nodes }) => [
    ...[service, version, String(nodes.length)],
    ...toRateCells(rates.get(service)),
  ])
  const byAddress = new Map<string, { readonly names: string[]; readonly node: NodeStats }>()
  for (const { service, nodes } of sorted)
    for (const node of nodes) {
      const process = byAddress.get(node.address) ?? { names: [], node }
      process.names.push(service)
      byAddress.set(node.address, process)
    }
  const processes = [...byAddress.values()].map(({ names, node }) => {
    const [, address = '', ...cells] = toRow(node)
    return [address, formatNames(names), ...cells]
  })
  return `${formatTable([SERVICE_HEADINGS, ...rows], 0)}\n${formatTable([PROCESS_HEADINGS, ...processes], 0)}`
}

function toRateCells(rate: Rate | undefined): readonly string[] {
  if (rate === undefined) return ['0', NONE, NONE, NONE]
  const { requests_per_second, error_share, p50_ms, p99_ms } = rate
  return [
    requests_per_second.toFixed(1),
    error_share === undefined ? NONE : formatShare(error_share),
    ...[p50_ms, p99_ms].map((ms) => (ms === undefined ? NONE : formatLatency(ms))),
  ]
}

function formatNames(names: readonly string[]): string {
  const more = names.length - MAX_NAMES
  return more > 0 ? `${names.slice(0, MAX_NAMES).join(',')},+${more}` : names.join(',')
}

/** Calls a single node by its address. */
async function readNode(
  { call }: Session,
  service: string,
  { id, address, metadata }: Node,
): Promise<NodeStats> {
  const options = {
    address: `${metadata['protocol'] ?? 'mx'}://${address}`,
    timeoutMs: TIMEOUT_MS,
  }
  const stats = await call<Stats>(service, 'Debug.Stats', {}, options).catch(() => null)
  return { id, address, stats }
}

function toRow({ id, address, stats }: NodeStats): readonly string[] {
  if (stats === null) return [id, address, '', '', '', '', '']
  const { started, uptime, memory, threads, gc } = stats
  return [
    ...[id, address, formatTime(started), formatSpan(uptime)],
    ...[`${(memory / BYTES_PER_MB).toFixed(2)}mb`, String(threads)],
    formatDuration(Math.round(gc / NS_PER_MS)),
  ]
}

/** Formats a time as `Jan 2 15:04:05` in the local time zone. */
function formatTime(seconds: number): string {
  const date = new Date(seconds * 1000)
  const month = date.toLocaleString('en', { month: 'short' })
  return `${month} ${date.getDate()} ${date.toTimeString().slice(0, 8)}`
}
