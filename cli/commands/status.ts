import { type Command, defineCommand } from '../command.ts'
import { formatAgo } from '../runtime/format-ago.ts'
import {
  findObject,
  listObjects,
  parseObject,
  type RuntimeObject,
  toStatus,
} from '../runtime/objects.ts'
import { openSession, sessionFlags } from '../session/session.ts'
import { OUTPUT_FLAGS, print, toFormat } from '../ui/format.ts'
import { CliError, EXIT } from '../ui/output.ts'
import { formatTable } from '../ui/table.ts'

const HEADINGS = ['NAME', 'VERSION', 'SOURCE', 'STATUS', 'BUILD', 'UPDATED', 'METADATA']
const NONE = 'n/a'
const BUILD_LENGTH = 7
/** Shown in the column METADATA, each with its first line. */
const SHOWN = ['owner', 'group', 'update', 'error', 'restarts', 'lastFailure']

const command: Command = defineCommand({
  name: 'status',
  description: 'Show the services that the platform runs',
  usage: '[<name or source> [<version>]]',
  flags: {
    ...OUTPUT_FLAGS,
    ...sessionFlags('Namespace of the services'),
  },
  examples: ['mx status', 'mx status helloworld -o json'],
  async run(words, flags) {
    if (words.length > 2)
      throw usage(
        `expected a name and a version at most, got ${words.join(', ')}. See 'mx status --help'`,
      )
    const format = toFormat(flags)
    const session = openSession(flags)
    try {
      const [text, version] = words
      const target = text === undefined ? undefined : parseObject(text)
      const objects =
        target === undefined
          ? await listObjects(session)
          : [await findObject(session, target.name, version ?? target.version)]
      const view = objects.map((object) => ({ ...object, status: toStatus(object) }))
      await print(format, view, toText(objects))
      if (objects.length === 0 && format === 'text' && process.stdout.isTTY)
        process.stderr.write("mx: no services running; start one with 'mx run <folder>'\n")
    } finally {
      session.close()
    }
  },
})

export default command

/** Empty without services: scripts count lines. */
function toText(objects: readonly RuntimeObject[]): string {
  return objects.length === 0 ? '' : formatTable([HEADINGS, ...objects.map(toRow)], 0)
}

function toRow(object: RuntimeObject): readonly string[] {
  const { name, version, source, metadata } = object
  const { started = '', build = '' } = metadata
  return [
    name,
    version,
    // No spaces: scripts split columns at them.
    (metadata['source'] || source || NONE).replaceAll(/\s/g, '_'),
    toStatus(object),
    build.slice(0, BUILD_LENGTH) || NONE,
    formatAgo(Date.parse(started), Date.now()),
    SHOWN.filter((key) => metadata[key] && !(key === 'lastFailure' && metadata['error']))
      .map((key) => `${key}=${metadata[key]!.split('\n')[0]}`)
      .join(', ') || NONE,
  ]
}

function usage(message: string): CliError {
  return new CliError(message, { status: EXIT.usage })
}
