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
/** Told in the column METADATA, where they are there, their first lines. */
const TOLD = ['owner', 'group', 'update', 'error', 'restarts', 'lastFailure']

const command: Command = defineCommand({
  name: 'status',
  description: 'Show what runs',
  usage: '[<name or source> [<version>]]',
  flags: {
    ...OUTPUT_FLAGS,
    ...sessionFlags('Namespace it runs in'),
  },
  examples: ['mx status helloworld -o json'],
  async run(words, flags) {
    if (words.length > 2)
      throw usage(`a name and a version at most, got ${words.join(', ')}. See 'mx status --help'`)
    const format = toFormat(flags)
    const session = openSession(flags)
    try {
      const [text, version] = words
      const named = text === undefined ? undefined : parseObject(text)
      const objects =
        named === undefined
          ? await listObjects(session)
          : [await findObject(session, named.name, version ?? named.version)]
      const told = objects.map((object) => ({ ...object, status: toStatus(object) }))
      await print(format, told, toText(objects))
      if (objects.length === 0 && format === 'text' && process.stdout.isTTY)
        process.stderr.write("mx: no service runs; start one with 'mx run <folder>'\n")
    } finally {
      session.close()
    }
  },
})

export default command

/** Empty when nothing runs: scripts count lines. */
function toText(objects: readonly RuntimeObject[]): string {
  return objects.length === 0 ? '' : formatTable([HEADINGS, ...objects.map(toRow)], 0)
}

function toRow(object: RuntimeObject): readonly string[] {
  const { name, version, source, metadata } = object
  const { started = '', build = '' } = metadata
  return [
    name,
    version,
    // One word each: scripts split at blanks.
    (metadata['source'] || source || NONE).replaceAll(/\s/g, '_'),
    toStatus(object),
    build.slice(0, BUILD_LENGTH) || NONE,
    formatAgo(Date.parse(started), Date.now()),
    TOLD.filter((key) => metadata[key] && !(key === 'lastFailure' && metadata['error']))
      .map((key) => `${key}=${metadata[key]!.split('\n')[0]}`)
      .join(', ') || NONE,
  ]
}

function usage(message: string): CliError {
  return new CliError(message, { status: EXIT.usage })
}
