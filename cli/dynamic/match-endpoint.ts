import type { Endpoint } from '../../core/contracts/registry.ts'
import { suggest } from '../../lib/text/did-you-mean.ts'
import { COMMANDS } from '../commands.gen.ts'
import { CliError, EXIT } from '../ui/output.ts'

/** Method called by `mx <service> --<field>=<value>` (reference 8.3). */
const DEFAULT_METHOD = 'call'

/**
 * Finds an endpoint by its words: `foo` is `Svc.Foo`, `foo bar` is `Foo.Bar` (reference 8.3). Dashes and case are
 * ignored. A single word also matches a method that only one handler has.
 *
 * @param service service name
 * @throws {CliError} for more than two words, or an unknown or ambiguous endpoint
 */
export function findEndpoint(
  service: string,
  endpoints: readonly Endpoint[],
  words: readonly string[],
): Endpoint {
  const parts = words.flatMap((word) => word.split('.'))
  if (parts.length > 2)
    throw new CliError(
      `Incorrect number of arguments: an endpoint is one or two words, got ${words.join(' ')}. See 'mx ${service} --help'`,
      { status: EXIT.usage },
    )
  const [handler, method] =
    parts.length === 2 ? [parts[0]!, parts[1]!] : [toHandler(service), parts[0] ?? DEFAULT_METHOD]
  const matches = endpoints.filter(({ name }) => isEqualName(splitName(name)[1], method))
  const match = matches.find(({ name }) => isEqualName(splitName(name)[0], handler))
  if (match !== undefined) return match
  if (parts.length < 2 && matches.length === 1) return matches[0]!
  if (parts.length < 2 && matches.length > 1) {
    const all = matches.map((each) => toWords(service, each)).join(' or ')
    throw new CliError(`${service} has several endpoints ${method}: choose ${all}`, {
      status: EXIT.usage,
    })
  }
  const names = endpoints.map((each) => toWords(service, each))
  const [word = '', ...more] = words
  const prefix = more.length === 0 ? undefined : names.find((each) => isEqualName(each, word))
  const { subcommands = [] } = COMMANDS.find(({ name }) => name === service) ?? {}
  const similar = suggest(words.join(' ') || DEFAULT_METHOD, names) ?? suggest(word, subcommands)
  const unknown =
    similar === undefined ? `. See 'mx ${service} --help'` : `, did you mean ${similar}?`
  const hint =
    prefix === undefined
      ? unknown
      : `: fields of ${prefix} are flags. See 'mx ${service} ${prefix} --help'`
  throw new CliError(
    `Endpoint ${capitalize(handler)}.${capitalize(method)} not found for service ${service}${hint}`,
    { status: EXIT.unknownMethod },
  )
}

/** Words of an endpoint with lower-case first letters, without the handler if it is named like the service. */
export function toWords(service: string, { name }: Endpoint): string {
  const [handler, method] = splitName(name)
  const words = isEqualName(handler, toHandler(service)) ? [method] : [handler, method]
  return words.map(lower).join(' ')
}

/** Handler name of a service: `greeter` for `go.mx.srv.greeter`. */
function toHandler(service: string): string {
  return service.slice(service.lastIndexOf('.') + 1)
}

function splitName(name: string): readonly [handler: string, method: string] {
  const dot = name.lastIndexOf('.')
  return [name.slice(0, Math.max(dot, 0)), name.slice(dot + 1)]
}

function isEqualName(a: string, b: string): boolean {
  return normalizeName(a) === normalizeName(b)
}

function normalizeName(word: string): string {
  return word.replaceAll(/[-_]/g, '').toLowerCase()
}

function lower(word: string): string {
  return word.slice(0, 1).toLowerCase() + word.slice(1)
}

function capitalize(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1)
}
