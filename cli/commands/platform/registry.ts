import type { Endpoint, Node, Service, Value } from '../../../core/contracts/registry.ts'
import { type Command, defineCommand } from '../../command.ts'
import { mustFindService } from '../../session/find-services.ts'
import { sessionFlags, withSession } from '../../session/session.ts'
import { OUTPUT_FLAGS, print, toFormat } from '../../ui/format.ts'
import { formatTable } from '../../ui/table.ts'

/** Endpoint metadata that repeats other fields in more detail. */
const SCHEMAS = ['requestSchema', 'responseSchema']

const command: Command = defineCommand({
  name: 'registry',
  description: 'Show the versions, nodes and endpoints of a service',
  sharesServiceName: true,
  flags: {
    ...OUTPUT_FLAGS,
    ...sessionFlags('Namespace of the service'),
  },
  examples: ['mx registry get helloworld', 'mx registry listServices'],
  subcommands: {
    'get <service>': ([name], flags) =>
      withSession(flags, async (session) => {
        const format = toFormat(flags)
        const versions = await mustFindService(session, name)
        await print(format, versions, formatService(versions))
      }),
  },
})

export default command

function formatService(versions: readonly Service[]): string {
  const [first] = versions
  const nodes = versions.map(
    ({ version, nodes }) =>
      `\nversion ${version}\n\n${formatTable([['ID', 'Address', 'Metadata'], ...nodes.map(toRow)], 0)}`,
  )
  return [`service  ${first!.name}\n`, ...nodes, ...first!.endpoints.map(formatEndpoint)].join('')
}

function toRow({ id, address, metadata }: Node): readonly string[] {
  return [id, address, formatPairs(metadata)]
}

function formatEndpoint({ name, metadata, request, response }: Endpoint): string {
  const entries = Object.entries(metadata).filter(([key]) => !SCHEMAS.includes(key))
  const pairs = formatPairs(Object.fromEntries(entries))
  return [
    `\nEndpoint: ${name}\n`,
    ...(pairs === '' ? [] : [`Metadata: ${pairs}\n`]),
    `Request: ${formatMessage(request)}\n\nResponse: ${formatMessage(response)}\n`,
  ].join('')
}

function formatMessage({ values }: Value): string {
  return values.length === 0 ? '{}' : `{\n${values.map((value) => formatField(value, 1)).join('')}}`
}

function formatField({ name, type, values }: Value, depth: number): string {
  const indent = '\t'.repeat(depth)
  if (values.length === 0) return `${indent}${name} ${type}\n`
  const inner = values.map((value) => formatField(value, depth + 1)).join('')
  return `${indent}${name} ${type} {\n${inner}${indent}}\n`
}

function formatPairs(pairs: Readonly<Record<string, string>>): string {
  return Object.entries(pairs)
    .map(([key, value]) => `${key}=${value}`)
    .join(',')
}
