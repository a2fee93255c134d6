import { writeFileSync } from 'node:fs'
import type { Service } from '../../../core/contracts/registry.ts'
import { suggest } from '../../../lib/text/did-you-mean.ts'
import type { FlagsOf } from '../../args/args.ts'
import { type Command, defineCommand } from '../../command.ts'
import { type Interfaces, toInterfaces } from '../../gen/interface.ts'
import { toOpenApi } from '../../gen/openapi.ts'
import { toTypeScript } from '../../gen/typescript.ts'
import { mustFindService } from '../../session/find-services.ts'
import { openSession, type Session, sessionFlags } from '../../session/session.ts'
import { formatAs, toFormat } from '../../ui/format.ts'
import { CliError, usageError } from '../../ui/output.ts'

const FLAGS = {
  '--language <name>': 'typescript or openapi (default: typescript)',
  '--file <path>': 'File to write (default: standard output)',
  '--url <url>': 'Gateway URL in an OpenAPI document (default: http://127.0.0.1:8080)',
  '-o, --output <format>': 'Format of an OpenAPI document: json or yaml (default: json)',
  ...sessionFlags('Namespace of the services'),
}
const LANGUAGES = ['typescript', 'openapi']
const GATEWAY = 'http://127.0.0.1:8080'

type GenFlags = FlagsOf<typeof FLAGS>

const command: Command = defineCommand({
  name: 'gen',
  description: 'Generate a client for running services',
  usage: 'client <service>...',
  flags: FLAGS,
  examples: [
    'mx gen client helloworld --file helloworld-client.ts',
    'mx gen client helloworld mail --language openapi --file api.yaml',
  ],
  async run(words, flags) {
    const [kind, ...names] = words
    if (kind !== 'client' || names.length === 0)
      throw usageError(
        'gen',
        `expected mx gen client <service>, got mx ${['gen', ...words].join(' ')}`,
      )
    const { language = 'typescript', file } = flags
    if (!LANGUAGES.includes(language)) {
      const similar = suggest(language, LANGUAGES)
      throw usageError(
        'gen',
        `language must be ${LANGUAGES.join(' or ')}, got ${language}${similar === undefined ? '' : `, did you mean ${similar}?`}`,
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
  },
})

export default command

async function write(interfaces: Interfaces, language: string, flags: GenFlags): Promise<string> {
  if (language === 'typescript') return toTypeScript(interfaces)
  const { file = '', url = GATEWAY } = flags
  const format = flags.output === undefined && /\.ya?ml$/.test(file) ? 'yaml' : toFormat(flags)
  return formatAs(format === 'text' ? 'json' : format, toOpenApi(interfaces, url), '')
}

/** Finds a service and prefers version `latest`. @throws {CliError} */
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
