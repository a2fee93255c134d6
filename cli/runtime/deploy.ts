import { onInterrupt } from '../interrupt.ts'
import type { Session } from '../session/session.ts'
import { readBaseUrl } from '../state/base-url.ts'
import { readConfig } from '../state/config.ts'
import { recordUpload } from '../state/uploads.ts'
import { printDone, toFormat } from '../ui/format.ts'
import { openSteps, type Steps } from '../ui/progress.ts'
import { type Hint, untilRunning } from './follow.ts'
import { type RunFlags, toOptions, toPairs } from './run-flags.ts'
import { describeUrl } from './service-url.ts'
import { formatFolder, type Source } from './source.ts'
import { upload } from './upload.ts'

/** How long a start takes that nobody wonders about, milliseconds. */
const SOON_MS = 5000

/** What is asked of the service `runtime`. */
export interface Deployment {
  readonly endpoint: 'Runtime.Create' | 'Runtime.Update'
  readonly name: string
  readonly version: string
  /** Undefined: an image, or what an object has already. */
  readonly source: Source | undefined
  /** The source as typed, which `mx status` shows unless it is a folder; empty: unchanged. */
  readonly typed: string
  readonly flags: RunFlags
  /** An update is one to the build before. */
  readonly rollback?: boolean
  /** What is there already is updated. */
  readonly force?: boolean
}

/**
 * Has the platform run something, and waits until it does.
 *
 * @throws {CliError} why it does not.
 */
export async function deploy(session: Session, deployment: Deployment): Promise<void> {
  const { endpoint, name, version, typed, flags, rollback, force } = deployment
  const startedMs = performance.now()
  const format = toFormat(flags)
  const given = toOptions(flags)
  const origin = deployment.source?.kind === 'folder' ? formatFolder(deployment.source) : typed
  const metadata = {
    ...toPairs('metadata', flags.metadata ?? []),
    ...(origin && { source: origin }),
  }
  const steps = await openSteps()
  let isAsked = false
  const stop = onInterrupt(() => {
    steps.end()
    return isAsked
      ? `the platform goes on with ${name}: mx status ${name}`
      : 'given up: nothing was changed'
  })
  try {
    const { source, ...found } = await place(session, deployment, steps)
    steps.show(endpoint === 'Runtime.Create' ? 'pending' : 'updating')
    isAsked = true
    await session.call('runtime', endpoint, {
      resource: { service: { name, version, source, metadata } },
      options: { ...found, ...given, ...(force && { force }), namespace: session.namespace },
      ...(rollback && { rollback }),
    })
    await untilRunning(session, { name, version }, steps, toHint(name, flags))
  } finally {
    steps.end()
    stop()
  }
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
  const done = { name, version, status: 'running', seconds: Number(seconds) }
  await printDone(format, done, `${name} is running after ${seconds} s`)
  if (format === 'text' && process.stdout.isTTY)
    process.stdout.write(await describeUrl(session, name))
}

/** Programs that know nothing of the platform never register, and nothing else says so for a minute. */
function toHint(name: string, { protocol, image }: RunFlags): Hint | undefined {
  if (protocol !== undefined || image !== undefined) return undefined
  const text = `${name} has not registered yet. Run a plain HTTP program with --protocol=http: it gets its port in the variable PORT`
  return { text, afterMs: SOON_MS }
}

/** The source as the platform knows it, and the options that come of it. */
async function place(
  session: Session,
  { source, name, version }: Deployment,
  steps: Steps,
): Promise<{ source: string; entrypoint?: string; credentials?: string }> {
  if (source === undefined) return { source: '' }
  if (source.kind === 'folder') {
    const { id, entrypoint } = await upload(session, source.path, { name, version }, steps)
    // Where nothing can be stored, `mx update` asks for the folder.
    await recordUpload({ ...session, name, version }, formatFolder(source)).catch(() => {})
    return { source: id, entrypoint }
  }
  const { address } = source
  const credentials = findCredentials(address, readBaseUrl(session.environment))
  return { source: address, ...(credentials !== '' && { credentials }) }
}

/** The token for repositories: where there is an address for short names it is for that host, and for no other. */
function findCredentials(address: string, baseUrl: string): string {
  const isMeant = baseUrl === '' || toHost(address) === toHost(baseUrl)
  return isMeant ? readConfig().get('git.credentials') : ''
}

function toHost(address: string): string {
  const [host = ''] = address.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').split('/')
  return host.replace(/^[^@]*@/, '').toLowerCase()
}
