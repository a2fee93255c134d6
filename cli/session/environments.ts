import { parseServerAddress } from '../../domain/mesh/address.ts'
import { suggest } from '../../lib/text/did-you-mean.ts'
import { type CliConfig, changeConfig, readConfig } from '../state/config.ts'
import { forgetCredentials } from '../state/tokens.ts'
import { CliError, EXIT } from '../ui/output.ts'

/** A deployment the CLI talks to (specification: Environment). */
export interface Environment {
  readonly name: string
  /** Of its RPC proxy, `host:port`, or `mxs://host:port` over TLS; empty: none was given (reference 15.19). */
  readonly address: string
}

const LOCAL = 'local'
const BUILT_IN: readonly (readonly [name: string, address: string])[] = [
  [LOCAL, '127.0.0.1:8081'],
  ['dev', ''],
  ['platform', ''],
]
/** A dot would make two of it in `config.json`. */
const NAME = /^[A-Za-z0-9][\w-]{0,62}$/
/** What `config.json` has of its own, where environments have their account or their address of repositories. */
const RESERVED = ['env', 'envs', 'namespaces', 'git', 'baseurl', 'credentials']
/** Of a hosted one that names no port. */
const DEFAULT_PORT = 443

/** All of them by name: built in, and added ones. */
export function listEnvironments(config: CliConfig = readConfig()): readonly Environment[] {
  const added = parseAdded(config.get('envs'))
  const all = new Map([...BUILT_IN, ...Object.entries(added)])
  return [...all]
    .map(([name, address]) => ({ name, address: process.env[toVariable(name)] || address }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** Name of the one commands go to: `given`, else `MX_ENV`, else the one that was selected, else `local`. */
export function findSelected(given: string | undefined, config: CliConfig = readConfig()): string {
  return given || process.env['MX_ENV'] || config.get('env') || LOCAL
}

/**
 * The one commands go to, as {@link findSelected} names it.
 *
 * @throws {CliError} when there is none of that name, or it has no address.
 */
export function findEnvironment(given: string | undefined): Environment {
  const config = readConfig()
  const name = findSelected(given, config)
  const all = listEnvironments(config)
  const found = all.find((each) => each.name === name)
  if (found === undefined)
    throw usage(
      `Env "${name}" not found${suggestOne(name, all)} See \`mx env\` for available environments.`,
    )
  if (found.address === '')
    throw usage(
      `Env "${name}" has no address: add one with 'mx env add ${name} <host:port>', or set ${toVariable(name)}`,
    )
  return { name, address: toProxyAddress(found.address) ?? found.address }
}

/** @throws {CliError} when there is none of that name. */
export function requireKnown(name: string): void {
  const all = listEnvironments()
  if (all.some((each) => each.name === name)) return
  throw usage(`Environment '${name}' does not exist${suggestOne(name, all)} See 'mx env'`)
}

/**
 * Adds an environment, or changes the address of one.
 *
 * @param address empty: unchanged.
 * @returns the address; empty: none.
 * @throws {CliError} for a name or an address that is none.
 */
export async function addEnvironment(name: string, address: string): Promise<string> {
  if (!NAME.test(name))
    throw usage(`the name of an environment must be letters, digits, - and _, got ${name}`)
  if (RESERVED.includes(name))
    throw usage(`an environment cannot be called ${name}: ${RESERVED.join(', ')} are reserved`)
  if (address !== '' && toProxyAddress(address) === undefined)
    throw usage(
      `the address of an environment must be host:port, or mxs://host:port for TLS, got ${address}`,
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
 * Deletes an added one, and who was logged in there; where it was selected, `local` is.
 *
 * @throws {CliError} for one that is built in, or unknown.
 */
export async function deleteEnvironment(name: string): Promise<void> {
  requireKnown(name)
  let deleted = ''
  await changeConfig((config) => {
    const { [name]: address, ...rest } = parseAdded(config.get('envs'))
    if (address === undefined) throw usage(`Environment '${name}' is built in: it stays`)
    deleted = address
    const isGone = config.get('env') === name && !BUILT_IN.some(([each]) => each === name)
    const hasNamespace = config.get(toNamespaceName({ name })) !== ''
    return [
      ['envs', Object.keys(rest).length === 0 ? '' : JSON.stringify(rest)],
      [name, ''],
      ...(hasNamespace ? [[`namespaces.${name}`, ''] as const] : []),
      ...(isGone ? [['env', ''] as const] : []),
    ]
  })
  const address = toProxyAddress(deleted)
  const isUsed = listEnvironments().some((each) => toProxyAddress(each.address) === address)
  if (address !== undefined && !isUsed) await forgetCredentials(address)
}

/** Where the name of the account of an environment is remembered. */
export function toAccountName({ name }: Pick<Environment, 'name'>): string {
  return `${name}.current-user`
}

/** Where the namespace of an environment is remembered. */
export function toNamespaceName({ name }: Pick<Environment, 'name'>): string {
  return `namespaces.${name}.current`
}

function suggestOne(name: string, all: readonly Environment[]): string {
  const meant = suggest(
    name,
    all.map((each) => each.name),
  )
  return meant === undefined ? '.' : `, did you mean ${meant}?`
}

function usage(message: string): CliError {
  return new CliError(message, { status: EXIT.usage })
}

/** The variable that gives an environment another address. */
function toVariable(name: string): string {
  return `MX_ENV_${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_ADDRESS`
}

/** With its port, and a scheme for TLS alone; undefined: it is none. */
function toProxyAddress(text: string): string | undefined {
  const address = parseServerAddress(text) ?? parseServerAddress(`${text}:${DEFAULT_PORT}`)
  return address?.secure ? address.text : address?.text.replace(/^mx:\/\//, '')
}

/** @throws {Error} when it is damaged: whoever writes would lose what is there. */
function parseAdded(text: string): Record<string, string> {
  try {
    const added: unknown = JSON.parse(text || '{}')
    const isObject = typeof added === 'object' && added !== null && !Array.isArray(added)
    if (isObject && Object.values(added).every((address) => typeof address === 'string'))
      return added as Record<string, string>
  } catch {
    // Told below.
  }
  throw new Error(
    'envs in ~/.mx/config.json must be the text of a JSON object of addresses: mend it',
  )
}
