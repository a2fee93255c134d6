import { parseServerAddress } from '../../core/network/address.ts'
import type { Configuration } from '../../platform/configuration.ts'
import type { AskedRequest, Explanation } from '../../platform/explain.ts'
import { findEnvironment } from '../environments.ts'
import { print, toFormat } from '../format.ts'
import { CliError, EXIT } from '../output.ts'
import { formatExplanation } from './format-explanation.ts'
import { takeFlags } from './take-flags.ts'

const FLAGS = {
  '-H': 'header',
  '--header': 'header',
  '-d': 'data',
  '--data': 'data',
  '-o': 'output',
  '--output': 'output',
  '--env': 'env',
} as const
const METHOD = /^[A-Za-z]{1,20}$/
const FIELD = /^([^:\s]+):[ \t]*(.*)$/s
const SERVER = '--server'

/** `mx api explain`: what a request would meet, decided by the code that serves. @throws {CliError}, {@link SettingsError} */
export async function runExplain(words: readonly string[]): Promise<void> {
  const { taken, rest } = takeFlags(words, FLAGS)
  const [output] = taken.output ?? []
  const format = toFormat({ ...(output !== undefined && { output }) })
  const request = readRequest(rest, taken.header ?? [], taken.data?.[0])
  const flags = rest.slice(rest[0]!.startsWith('/') ? 1 : 2)
  const isServer = flags.includes(SERVER)
  const [
    { readFlags },
    { configurationFrom },
    { explain },
    { createLog },
    { createClosing },
    gates,
  ] = await Promise.all([
    import('../../platform/settings-flags.ts'),
    import('../../platform/configuration.ts'),
    import('../../platform/explain.ts'),
    import('../../platform/log.ts'),
    import('../../platform/closing.ts'),
    import('../../platform/remote-gate.ts'),
  ])
  const command = isServer ? 'server' : 'api'
  const given = readFlags(
    flags.filter((word) => word !== SERVER),
    command,
  )
  const loaded = await configurationFrom(given, process.env, command)()
  const configuration = isServer ? atServer(loaded, taken.env?.[0]) : loaded
  const log = createLog('silent')
  const closing = createClosing()
  try {
    const remote = await gates.openRemoteGate(configuration.settings, log, closing)
    const explanation = await explain(request, { configuration, gate: remote?.gate, log }, closing)
    const document = toDocument(request, explanation)
    await print(format, document, formatExplanation(request, explanation))
  } finally {
    await closing.close()
  }
}

/** Its services and rules are those of a server that runs. */
function atServer(configuration: Configuration, env: string | undefined): Configuration {
  const address = parseServerAddress(findEnvironment(env).address)!.text
  const settings = { ...configuration.settings, registry: address, auth: address }
  return { ...configuration, settings } as Configuration
}

function readRequest(
  words: readonly string[],
  fields: readonly string[],
  data: string | undefined,
): AskedRequest {
  const hasMethod = words[0] !== undefined && !words[0].startsWith('/')
  const [method, path] = hasMethod ? words : [data === undefined ? 'GET' : 'POST', words[0]]
  if (method === undefined || path === undefined || !METHOD.test(method) || !path.startsWith('/'))
    throw usage('a method and a path are expected, such as GET /greeter/hello')
  const headers: Record<string, string[]> = {}
  for (const field of fields) {
    const [, name, value] = FIELD.exec(field) ?? []
    if (name === undefined || value === undefined)
      throw usage(`a header is written "name: value", got ${JSON.stringify(field)}`)
    const key = name.toLowerCase()
    headers[key] = [...(headers[key] ?? []), value.trim()]
  }
  return { method, path, headers, ...(data !== undefined && { body: data }) }
}

function toDocument({ method, path }: AskedRequest, explanation: Explanation): object {
  const { answer, why, ...rest } = explanation
  return {
    request: { method, path },
    ...rest,
    ...(answer !== undefined && {
      answer: { status: answer.status, ...answer.error?.toBody() },
      why,
    }),
  }
}

function usage(message: string): CliError {
  return new CliError(`${message}. See 'mx api --help'`, { status: EXIT.usage })
}
