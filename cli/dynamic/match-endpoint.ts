import type { Endpoint } from '../../core/contracts/registry.ts'
import { suggest } from '../../lib/text/did-you-mean.ts'
import { COMMANDS } from '../commands.gen.ts'
import { CliError, EXIT } from '../ui/output.ts'

/** What `mx <service>` alone means where fields follow (reference 8.3). */
const DEFAULT_METHOD = 'call'

/**
 * The endpoint that is meant: `foo` is `Svc.Foo`, `foo bar` is `Foo.Bar` (reference 8.3), dashes and capitals do not matter. One word
 * also means the only method of that name, whatever its handler.
 *
 * @param service name of the service.
 * @throws {CliError} for more words, and when there is no such endpoint, or several.
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
  const named = endpoints.filter(({ name }) => isAlike(splitName(name)[1], method))
  const found = named.find(({ name }) => isAlike(splitName(name)[0], handler))
  if (found !== undefined) return found
  if (parts.length < 2 && named.length === 1) return named[0]!
  if (parts.length < 2 && named.length > 1) {
    const all = named.map((each) => toWords(service, each)).join(' or ')
    throw new CliError(`${service} has several endpoints ${method}: say ${all}`, {
      status: EXIT.usage,
    })
  }
  const known = endpoints.map((each) => toWords(service, each))
  const [word = '', ...more] = words
  const begun = more.length === 0 ? undefined : known.find((each) => isAlike(each, word))
  const { subcommands = [] } = COMMANDS.find(({ name }) => name === service) ?? {}
  const meant = suggest(words.join(' ') || DEFAULT_METHOD, known) ?? suggest(word, subcommands)
  const unknown = meant === undefined ? `. See 'mx ${service} --help'` : `, did you mean ${meant}?`
  const hint =
    begun === undefined
      ? unknown
      : `: fields of ${begun} are flags. See 'mx ${service} ${begun} --help'`
  throw new CliError(
    `Endpoint ${capitalize(handler)}.${capitalize(method)} not found for service ${service}${hint}`,
    { status: EXIT.unknownMethod },
  )
}

/** The words that mean an endpoint: first letters lowered, the service's own handler left out. */
export function toWords(service: string, { name }: Endpoint): string {
  const [handler, method] = splitName(name)
  const words = isAlike(handler, toHandler(service)) ? [method] : [handler, method]
  return words.map(lower).join(' ')
}

/** Of `go.mx.srv.greeter` it is the last part. */
function toHandler(service: string): string {
  return service.slice(service.lastIndexOf('.') + 1)
}

function splitName(name: string): readonly [handler: string, method: string] {
  const dot = name.lastIndexOf('.')
  return [name.slice(0, Math.max(dot, 0)), name.slice(dot + 1)]
}

function isAlike(a: string, b: string): boolean {
  return toPlain(a) === toPlain(b)
}

function toPlain(word: string): string {
  return word.replaceAll(/[-_]/g, '').toLowerCase()
}

function lower(word: string): string {
  return word.slice(0, 1).toLowerCase() + word.slice(1)
}

function capitalize(word: string): string {
  return word.slice(0, 1).toUpperCase() + word.slice(1)
}
