import { suggest } from '../core/suggest.ts'
import { parseAddress } from '../core/upstream/parse-node.ts'
import { CliError, EXIT } from './output.ts'
import { type CliConfig, readConfig } from './state/config.ts'

/** A deployment the CLI talks to (specification: Environment). */
export interface Environment {
  readonly name: string
  /** Of its RPC proxy, `host:port`; empty: none was given (reference 15.19). */
  readonly address: string
}

const LOCAL = 'local'
const LOCAL_ADDRESS = '127.0.0.1:8081'
/** Of a hosted one that names no port. */
const DEFAULT_PORT = 443

/** All of them by name: built in, and added ones. */
export function listEnvironments(config: CliConfig = readConfig()): readonly Environment[] {
  const added = parseAdded(config.get('envs'))
  const all = new Map([
    [LOCAL, LOCAL_ADDRESS],
    ['dev', ''],
    ['platform', ''],
    ...Object.entries(added),
  ])
  return [...all]
    .map(([name, address]) => ({ name, address: process.env[toVariable(name)] || address }))
    .sort((a, b) => (a.name < b.name ? -1 : 1))
}

/**
 * The one commands go to: `given`, else `MX_ENV`, else the one that was selected, else `local`.
 *
 * @throws {CliError} when there is none of that name, or it has no address.
 */
export function findEnvironment(given: string | undefined): Environment {
  const config = readConfig()
  const name = given || process.env['MX_ENV'] || config.get('env') || LOCAL
  const all = listEnvironments(config)
  const found = all.find((each) => each.name === name)
  if (found === undefined) {
    const meant = suggest(
      name,
      all.map((each) => each.name),
    )
    const hint = meant === undefined ? '.' : `, did you mean ${meant}?`
    throw new CliError(
      `Env "${name}" not found${hint} See \`mx env\` for available environments.`,
      { status: EXIT.usage },
    )
  }
  if (found.address === '')
    throw new CliError(
      `Env "${name}" has no address: add one with 'mx env add ${name} <host:port>', or set ${toVariable(name)}`,
      { status: EXIT.usage },
    )
  return { name, address: withPort(found.address) }
}

/** The variable that gives an environment another address. */
function toVariable(name: string): string {
  return `MX_ENV_${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}_ADDRESS`
}

function withPort(address: string): string {
  return parseAddress(address) === undefined ? `${address}:${DEFAULT_PORT}` : address
}

function parseAdded(text: string): Record<string, string> {
  try {
    return JSON.parse(text || '{}')
  } catch {
    return {}
  }
}
