import type { WorkloadKey } from '../../../core/contracts/runtime.ts'
import type { RunOptions } from '../messages.ts'
import type { Secrets } from '../secrets.ts'
import { type DesiredState, toObjectKey } from './records.ts'

const NOTHING: DesiredState = {
  command: [],
  args: [],
  env: {},
  secrets: '',
  credentials: '',
  image: '',
  entrypoint: '',
  instances: 0,
  protocol: '',
  port: 0,
  memory: 0,
  cpus: 0,
  allowScripts: false,
}

/**
 * Applies options to the desired state. Empty options keep their values, and variables are merged.
 *
 * @param hasSource whether the request has a new source, in which case settings of the previous
 * source are dropped.
 * @throws {GatewayError} 400 for secrets that cannot be stored.
 */
export function toDesiredState(
  key: WorkloadKey,
  options: RunOptions,
  secrets: Secrets,
  before: DesiredState = NOTHING,
  hasSource = true,
): DesiredState {
  const { command, args, env, image, entrypoint, instances, protocol, port, memory, cpus } = options
  const location = { namespace: key.namespace, key: toObjectKey(key) }
  const secretPlace = { ...location, what: 'secrets' } as const
  const hasSecrets = Object.keys(options.secrets).length > 0
  const canOpen = hasSecrets && secrets.canOpen(secretPlace, before.secrets)
  const existing = canOpen ? openVariables(secrets.open(secretPlace, before.secrets)) : {}
  return {
    command: command.length > 0 ? command : before.command,
    args: args.length > 0 ? args : before.args,
    env: { ...before.env, ...toVariables(env) },
    secrets: hasSecrets
      ? secrets.seal(secretPlace, JSON.stringify({ ...existing, ...options.secrets }))
      : before.secrets,
    credentials:
      options.credentials === ''
        ? before.credentials
        : secrets.seal({ ...location, what: 'credentials' }, options.credentials),
    image: image || before.image,
    // The entrypoint of the previous source does not apply to a new one.
    entrypoint: hasSource ? entrypoint : entrypoint || before.entrypoint,
    instances: instances || before.instances,
    protocol: protocol || before.protocol,
    port: port || before.port,
    memory: memory || before.memory,
    cpus: cpus || before.cpus,
    allowScripts: options.allow_scripts || before.allowScripts,
  }
}

/** Returns whether both states use the same build. */
export function needsNoBuild(before: DesiredState, after: DesiredState): boolean {
  const toBuildKey = ({
    command,
    args,
    image,
    entrypoint,
    protocol,
    port,
    allowScripts,
  }: DesiredState) =>
    JSON.stringify([command, args, image, entrypoint, protocol, port, allowScripts])
  return toBuildKey(before) === toBuildKey(after)
}

/** Parses decrypted secrets. */
export function openVariables(text: string): Readonly<Record<string, string>> {
  return text === '' ? {} : JSON.parse(text)
}

/** Parses validated `<name>=<value>` lines. */
function toVariables(lines: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    lines.map((line) => {
      const end = line.indexOf('=')
      return [line.slice(0, end), line.slice(end + 1)]
    }),
  )
}
