import type { ExplainedRequest } from '../../platform/gateway/routing/explained-request.ts'
import { print, toFormat } from '../ui/format.ts'
import { CliError, EXIT } from '../ui/output.ts'
import { explainAtServer, type ServerExplanation } from './explain-at-server.ts'
import { extractFlags } from './extract-flags.ts'
import { formatExplanation } from './format-explanation.ts'

const FLAGS = {
  '-H': 'header',
  '--header': 'header',
  '-d': 'data',
  '--data': 'data',
  '--on': 'listener',
  '--client': 'client',
  '-o': 'output',
  '--output': 'output',
  '--env': 'env',
  '--target': 'env',
} as const
const METHOD = /^[A-Za-z]{1,20}$/
const HEADER = /^([^:\s]+):[ \t]*(.*)$/s
const ABSOLUTE = /^(https?):\/\/([^/?#]+)(?=[/?#]|$)([^#]*)/
const SERVER = '--server'

/**
 * `mx api explain`: explains how the gateway would handle a request, without sending it.
 *
 * @throws {CliError}, {@link SettingsError}
 */
export async function runExplain(words: readonly string[]): Promise<void> {
  const { values, rest } = extractFlags(words, FLAGS)
  const [output] = values.output ?? []
  const format = toFormat({ ...(output !== undefined && { output }) })
  const request = {
    ...readRequest(rest, values.header ?? [], values.data?.[0]),
    listener: values.listener?.at(-1) ?? '',
    client: values.client?.at(-1) ?? '',
  }
  const flags = rest.slice(isTarget(rest[0]!) ? 1 : 2)
  const { explanation, redactDeep } = flags.includes(SERVER)
    ? await explainRemotely(request, readEnvironment(flags, values.env))
    : await explainLocally(request, flags)
  const text = formatExplanation(request, explanation)
  await print(format, redactDeep(toDocument(request, explanation)), redactDeep(text))
}

/** Name of the environment. @throws {CliError} if a setting is passed, because the server uses its own settings */
function readEnvironment(
  flags: readonly string[],
  env: readonly string[] = [],
): string | undefined {
  const setting = flags.find((flag) => flag !== SERVER)
  if (setting !== undefined)
    throw usage(`--server uses the settings of the server and cannot be combined with ${setting}`)
  return env.at(-1)
}

interface Explained {
  readonly explanation: ServerExplanation
  /** Redacts resolved references in the output. */
  readonly redactDeep: <T>(value: T) => T
}

async function explainRemotely(
  request: ExplainedRequest,
  env: string | undefined,
): Promise<Explained> {
  return { explanation: await explainAtServer(request, env), redactDeep: (value) => value }
}

/** Explains a request with the settings of the command line, as `mx api` reads them. */
async function explainLocally(
  request: ExplainedRequest,
  flags: readonly string[],
): Promise<Explained> {
  const [
    { readFlags },
    { configurationFrom },
    { explain },
    { createLog },
    { createDisposer },
    authorizers,
  ] = await Promise.all([
    import('../../platform/settings/flags.ts'),
    import('../../platform/config/load.ts'),
    import('../../platform/gateway/routing/explain.ts'),
    import('../../platform/process/log.ts'),
    import('../../lib/async/disposer.ts'),
    import('../../platform/rpc-proxy/remote-authorizer.ts'),
  ])
  const configuration = await configurationFrom(readFlags(flags, 'api'), process.env, 'api')()
  const log = createLog('silent')
  const closing = createDisposer()
  try {
    const remote = await authorizers.openRemoteAuthorizer(configuration.settings, log, closing)
    const parts = { configuration, authorizer: remote?.authorizer, log }
    const { hidden } = configuration.config.references
    const explanation = await hidden.guard(() => explain(request, parts, closing))
    return { explanation, redactDeep: hidden.hideDeep }
  } finally {
    await closing.close()
  }
}

function readRequest(
  words: readonly string[],
  lines: readonly string[],
  data: string | undefined,
): ExplainedRequest {
  const hasMethod = words[0] !== undefined && !isTarget(words[0])
  const [method, target] = hasMethod ? words : [data === undefined ? 'GET' : 'POST', words[0]]
  if (method === undefined || target === undefined || !METHOD.test(method) || !isTarget(target))
    throw usage('expected a method and a path or URL, such as GET /greeter/hello')
  const [, scheme, host, rest = target] = ABSOLUTE.exec(target) ?? []
  const path = rest.startsWith('/') ? rest : `/${rest}`
  const headers: Record<string, string[]> = {}
  for (const header of lines) {
    const [, name, value] = HEADER.exec(header) ?? []
    if (name === undefined || value === undefined)
      throw usage(`--header must be "name: value", got ${JSON.stringify(header)}`)
    const key = name.toLowerCase()
    headers[key] = [...(headers[key] ?? []), value.trim()]
  }
  if (host !== undefined) headers['host'] ??= [host]
  return {
    method,
    path,
    headers,
    ...(scheme !== undefined && { secure: scheme === 'https' }),
    ...(data !== undefined && { body: data }),
  }
}

function toDocument({ method, path }: ExplainedRequest, explanation: ServerExplanation): object {
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

function isTarget(word: string): boolean {
  return word.startsWith('/') || ABSOLUTE.test(word)
}

function usage(message: string): CliError {
  return new CliError(`${message}. See 'mx api --help'`, { status: EXIT.usage })
}
