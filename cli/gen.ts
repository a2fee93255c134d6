import { writeFileSync } from 'node:fs'
import type { CAC } from 'cac'
import type { Service } from '../core/contracts/registry.ts'
import { suggest } from '../lib/text/did-you-mean.ts'
import { type CommandLine, readCommandLine } from './args/args.ts'
import { type Interfaces, toInterfaces } from './gen/interface.ts'
import { toOpenApi } from './gen/openapi.ts'
import { toTypeScript } from './gen/typescript.ts'
import { mustFindService } from './session/find-services.ts'
import { openSession, SESSION_FLAGS, type Session } from './session/session.ts'
import { formatAs, OUTPUT_FLAGS, toFormat } from './ui/format.ts'
import { CliError, EXIT } from './ui/output.ts'

const FLAGS = {
  ...SESSION_FLAGS,
  ...OUTPUT_FLAGS,
  language: 'string',
  file: 'string',
  url: 'string',
} as const
const LANGUAGES = ['typescript', 'openapi']
const GATEWAY = 'http://127.0.0.1:8080'

type GenFlags = CommandLine<typeof FLAGS>['flags']

/** Writes a client, or a document, of services that run. @throws {CliError} */
export async function runGen(cli: CAC): Promise<void> {
  const { words, flags } = readCommandLine(cli, FLAGS)
  const [what, ...names] = words
  if (what !== 'client' || names.length === 0)
    throw usage(
      `the services of a client are expected: mx gen client <service>, got ${['gen', ...words].join(' ')}`,
    )
  const { language = 'typescript', file } = flags
  if (!LANGUAGES.includes(language)) {
    const meant = suggest(language, LANGUAGES)
    throw usage(
      `language must be ${LANGUAGES.join(' or ')}, got ${language}${meant === undefined ? '' : `, did you mean ${meant}?`}`,
    )
  }
  const session = openSession(flags)
  try {
    const services = await Promise.all(names.map((name) => mustFind(session, name)))
    const text = await write(toInterfaces(services), language, flags)
    if (file === undefined) process.stdout.write(text)
    else save(file, text)
  } finally {
    session.close()
  }
}

async function write(interfaces: Interfaces, language: string, flags: GenFlags): Promise<string> {
  if (language === 'typescript') return toTypeScript(interfaces)
  const { file = '', url = GATEWAY } = flags
  const format = flags.output === undefined && /\.ya?ml$/.test(file) ? 'yaml' : toFormat(flags)
  return formatAs(format === 'text' ? 'json' : format, toOpenApi(interfaces, url), '')
}

/** The version that runs, `latest` where there are several. @throws {CliError} */
async function mustFind(session: Session, name: string): Promise<Service> {
  const versions = await mustFindService(session, name)
  return versions.find(({ version }) => version === 'latest') ?? versions.at(-1)!
}

function save(file: string, text: string): void {
  try {
    writeFileSync(file, text)
  } catch (cause) {
    throw new CliError(`cannot write ${file}: ${(cause as Error).message}`, { cause })
  }
}

function usage(message: string): CliError {
  return new CliError(`${message}. See 'mx gen --help'`, { status: EXIT.usage })
}
