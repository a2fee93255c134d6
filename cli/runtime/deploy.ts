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

/** Startup duration after which a hint is shown. */
const HINT_DELAY_MS = 5000

/** Request to the `runtime` service. */
export interface Deployment {
  readonly endpoint: 'Runtime.Create' | 'Runtime.Update'
  readonly name: string
  readonly version: string
  /** Source to upload or fetch; undefined for an image, or to reuse the current source. */
  readonly source: Source | undefined
  /** Source as typed, shown by `mx status` unless it is a folder; empty if unchanged. */
  readonly typed: string
  readonly flags: RunFlags
  /** Restore the previous build. */
  readonly rollback?: boolean
  /** Replace an existing object. */
  readonly force?: boolean
}

/**
 * Deploys a service and waits until it runs.
 *
 * @throws {CliError} with the reason of a failure
 */
export async function deploy(session: Session, deployment: Deployment): Promise<void> {
  const { endpoint, name, version, typed, flags, rollback, force } = deployment
  const startedMs = performance.now()
  const format = toFormat(flags)
  const input = toOptions(flags)
  const origin = deployment.source?.kind === 'folder' ? formatFolder(deployment.source) : typed
  const metadata = {
    ...toPairs('metadata', flags.metadata ?? []),
    ...(origin && { source: origin }),
  }
  const steps = await openSteps()
  let isRequested = false
  const stop = onInterrupt(() => {
    steps.end()
    return isRequested
      ? `canceled: the deployment of ${name} continues, see 'mx status ${name}'`
      : 'canceled: nothing was changed'
  })
  try {
    const { source, ...defaults } = await prepareSource(session, deployment, steps)
    steps.show(endpoint === 'Runtime.Create' ? 'pending' : 'updating')
    isRequested = true
    await session.call('runtime', endpoint, {
      resource: { service: { name, version, source, metadata } },
      options: { ...defaults, ...input, ...(force && { force }), namespace: session.namespace },
      ...(rollback && { rollback }),
    })
    await untilRunning(session, { name, version }, steps, toHint(name, flags))
  } finally {
    steps.end()
    stop()
  }
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
  const result = { name, version, status: 'running', seconds: Number(seconds) }
  await printDone(format, result, `${name} is running after ${seconds} s`)
  if (format === 'text' && process.stdout.isTTY)
    process.stdout.write(await describeUrl(session, name))
}

/**
 * Hint for a program that does not register, such as one without the SDK. The platform reports a missing
 * registration only after a minute.
 */
function toHint(name: string, { protocol, image }: RunFlags): Hint | undefined {
  if (protocol !== undefined || image !== undefined) return undefined
  const text = `${name} has not registered yet. Run a plain HTTP program with --protocol=http; its port is in the variable PORT`
  return { text, afterMs: HINT_DELAY_MS }
}

/** Uploads a folder. Returns the source as identified by the platform, and the options it implies. */
async function prepareSource(
  session: Session,
  { source, name, version }: Deployment,
  steps: Steps,
): Promise<{ source: string; entrypoint?: string; credentials?: string }> {
  if (source === undefined) return { source: '' }
  if (source.kind === 'folder') {
    const { id, entrypoint } = await upload(session, source.path, { name, version }, steps)
    // If recording fails, `mx update` requires the folder.
    await recordUpload({ ...session, name, version }, formatFolder(source)).catch(() => {})
    return { source: id, entrypoint }
  }
  const { address } = source
  const credentials = findCredentials(address, readBaseUrl(session.environment))
  return { source: address, ...(credentials !== '' && { credentials }) }
}

/** Token for a repository. If a base URL is set, the token is sent only to its host. */
function findCredentials(address: string, baseUrl: string): string {
  const isAllowed = baseUrl === '' || toHost(address) === toHost(baseUrl)
  return isAllowed ? readConfig().get('git.credentials') : ''
}

function toHost(address: string): string {
  const [host = ''] = address.replace(/^[a-z][a-z0-9+.-]*:\/\//i, '').split('/')
  return host.replace(/^[^@]*@/, '').toLowerCase()
}
