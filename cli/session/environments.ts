import { parseServerAddress } from '../../domain/mesh/address.ts'
import { suggest } from '../../lib/text/did-you-mean.ts'
import { type CliConfig, changeConfig, readConfig } from '../state/config.ts'
import { forgetCredentials } from '../state/tokens.ts'
import { CliError, EXIT } from '../ui/output.ts'

/** A deployment of mx (specification: Environment). */
export interface Environment {
  readonly name: string
  /** RPC proxy, `host:port`, or `mxs://host:port` for TLS; empty without an address (reference 15.19). */
  readonly address: string
}

const LOCAL = 'local'
const BUILT_IN: readonly (readonly [name: string, address: string])[] = [
  [LOCAL, '127.0.0.1:8081'],
  ['dev', ''],
  ['platform', ''],
]
/** Without dots, because they separate names in `config.json`. */
const NAME = /^[A-Za-z0-9][\w-]{0,62}$/
/** Names of other entries in `config.json`, which environments must not use. */
const RESERVED = ['env', 'envs', 'namespaces', 'git', 'baseurl', 'credentials']
/** Port of addresses without a port. */
const DEFAULT_PORT = 443

/** Built-in and added environments, by name. */
export function listEnvironments(config: CliConfig = readConfig()): readonly Environment[] {
  const added = parseAdded(config.get('envs'))
  const all = new Map([...BUILT_IN, ...Object.entries(added)])
  return [...all]
    .map(([name, address]) => ({ name, address: process.env[toVariable(name)] || address }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/**
 * Name of the current environment: the flag, else `MX_ENV`, else the selected one, else `local`.
 */
export function findSelected(flag: string | undefined, config: CliConfig = readConfig()): string {
  return flag || process.env['MX_ENV'] || config.get('env') || LOCAL
}

/**
 * Returns the current environment, see {@link findSelected}.
 *
 * @throws {CliError} for an unknown environment, or an environment without an address
 */
export function findEnvironment(flag: string | undefined): Environment {
  const config = readConfig()
  const name = findSelected(flag, config)
  const all = listEnvironments(config)
  const environment = all.find((each) => each.name === name)
  if (environment === undefined)
    throw usage(
      `Env "${name}" not found${formatSuggestion(name, all)} See \`mx env\` for available environments.`,
    )
  if (environment.address === '')
    throw usage(
      `Env "${name}" has no address: add one with 'mx env add ${name} <host:port>', or set ${toVariable(name)}`,
    )
  return { name, address: toProxyAddress(environment.address) ?? environment.address }
}

/** @throws {CliError} for an unknown environment */
export function requireKnown(name: string): void {
  const all = listEnvironments()
  if (all.some((each) => each.name === name)) return
  throw usage(`Environment '${name}' does not exist${formatSuggestion(name, all)} See 'mx env'`)
}

/**
 * Adds an environment or changes its address.
 *
 * @param address address; if empty, it is unchanged
 * @returns the address; empty if it has none
 * @throws {CliError} for an invalid name or address
 */
export async function addEnvironment(name: string, address: string): Promise<string> {
  if (!NAME.test(name))
    throw usage(`an environment name must be letters, digits, - and _, got ${name}`)
  if (RESERVED.includes(name))
    throw usage(`environment name ${name} is reserved, as are ${RESERVED.join(', ')}`)
  if (address !== '' && toProxyAddress(address) === undefined)
    throw usage(
      `an environment address must be host:port, or mxs://host:port for TLS, got ${address}`,
    )
  let result = address
  await changeConfig((config) => {
    const added = parseAdded(config.get('envs'))
    result ||= new Map([...BUILT_IN, ...Object.entries(added)]).get(name) ?? ''
    return [['envs', JSON.stringify({ ...added, [name]: result })]]
  })
  return result
}

/**
 * Deletes an added environment and its logins. If it was selected, selects `local`.
 *
 * @throws {CliError} for a built-in or unknown environment
 */
export async function deleteEnvironment(name: string): Promise<void> {
  requireKnown(name)
  let deleted = ''
  await changeConfig((config) => {
    const { [name]: address, ...rest } = parseAdded(config.get('envs'))
    if (address === undefined)
      throw usage(`Environment '${name}' is built in and cannot be deleted`)
    deleted = address
    const wasSelected = config.get('env') === name && !BUILT_IN.some(([each]) => each === name)
    const hasNamespace = config.get(toNamespaceName({ name })) !== ''
    return [
      ['envs', Object.keys(rest).length === 0 ? '' : JSON.stringify(rest)],
      [name, ''],
      ...(hasNamespace ? [[`namespaces.${name}`, ''] as const] : []),
      ...(wasSelected ? [['env', ''] as const] : []),
    ]
  })
  const address = toProxyAddress(deleted)
  const isUsed = listEnvironments().some((each) => toProxyAddress(each.address) === address)
  if (address !== undefined && !isUsed) await forgetCredentials(address)
}

/** Key of an environment's account in `config.json`. */
export function toAccountName({ name }: Pick<Environment, 'name'>): string {
  return `${name}.current-user`
}

/** Key of an environment's namespace in `config.json`. */
export function toNamespaceName({ name }: Pick<Environment, 'name'>): string {
  return `namespaces.${name}.current`
}

function formatSuggestion(name: string, all: readonly Environment[]): string {
  const similar = suggest(
    name,
    all.map((each) => each.name),
  )
  return similar === undefined ? '.' : `, did you mean ${similar}?`
}

function usage(message: string): CliError {
  return new CliError(message, { status: EXIT.usage })
}

/** Environment variable that overrides an environment's address. */
function toVariable(name: string): string {
  return `MX_ENV_${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_ADDRESS`
}

/** Adds the default port. Only TLS addresses have a scheme. Returns undefined for an invalid address. */
function toProxyAddress(text: string): string | undefined {
  const address = parseServerAddress(text) ?? parseServerAddress(`${text}:${DEFAULT_PORT}`)
  return address?.secure ? address.text : address?.text.replace(/^mx:\/\//, '')
}

/** @throws {Error} for invalid content, which the next write would overwrite */
function parseAdded(text: string): Record<string, string> {
  try {
    const added: unknown = JSON.parse(text || '{}')
    const isObject = typeof added === 'object' && added !== null && !Array.isArray(added)
    if (isObject && Object.values(added).every((address) => typeof address === 'string'))
      return added as Record<string, string>
  } catch {
    // The error below names the file.
  }
  throw new Error(
    'envs in ~/.mx/config.json must be a string that contains a JSON object of addresses: repair it',
  )
}
