import type { CAC } from 'cac'
import type { Node } from '../core/contracts/registry.ts'
import { isOfPlatform } from '../core/platform-services.ts'
import { formatDuration, formatSpan } from '../core/units.ts'
import { readCommandLine } from './command-line.ts'
import { listServices, mustFindService } from './find-services.ts'
import { OUTPUT_FLAGS, print, toFormat } from './format.ts'
import { CliError, EXIT } from './output.ts'
import { SESSION_FLAGS, type Session, withSession } from './session.ts'
import { formatTable } from './table.ts'

const FLAGS = { ...SESSION_FLAGS, ...OUTPUT_FLAGS, all: 'string' } as const
const HEADINGS = ['NODE', 'ADDRESS:PORT', 'STARTED', 'UPTIME', 'MEMORY', 'THREADS', 'GC']
const KINDS: Readonly<Record<string, (name: string) => boolean>> = {
  builtin: isOfPlatform,
  custom: (name) => !isOfPlatform(name),
}
/** A node that does not answer sooner is one that is not reached. */
const TIMEOUT_MS = 2000
const NS_PER_MS = 1e6
const BYTES_PER_MB = 1024 ** 2

/** As `Debug.Stats` tells them. */
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

interface NodeStats {
  readonly id: string
  readonly address: string
  /** Null: the node is not reached, or does not tell. */
  readonly stats: Stats | null
}

/** Shows what the nodes of services take (reference 8.4): of some, of those of a kind, or of all. @throws {CliError} */
export async function runStats(cli: CAC): Promise<void> {
  const { words, flags } = readCommandLine(cli, FLAGS)
  const format = toFormat(flags)
  const isMeant = flags.all === undefined ? () => true : KINDS[flags.all]
  if (isMeant === undefined)
    throw new CliError(`--all must be builtin or custom, got ${flags.all}`, { status: EXIT.usage })
  await withSession(flags, async (session) => {
    const found =
      words.length === 0
        ? await listServices(session)
        : (await Promise.all(words.map((name) => mustFindService(session, name)))).flat()
    const asked = found
      .filter(({ name }) => isMeant(name))
      .map(async ({ name, version, nodes }) => ({
        ...{ service: name, version },
        nodes: await Promise.all(nodes.map((node) => askNode(session, name, node))),
      }))
    const told = await Promise.all(asked)
    const text = told.map(
      ({ service, version, nodes }) =>
        `SERVICE  ${service}\nVERSION  ${version}\n\n${formatTable([HEADINGS, ...nodes.map(toRow)], 0)}`,
    )
    await print(format, told, text.join('\n'))
  })
}

/** Straight at its address: others of its service have figures of their own. */
async function askNode(
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

/** `Jan 2 15:04:05`, of this machine's time zone. */
function formatTime(seconds: number): string {
  const date = new Date(seconds * 1000)
  const month = date.toLocaleString('en', { month: 'short' })
  return `${month} ${date.getDate()} ${date.toTimeString().slice(0, 8)}`
}
