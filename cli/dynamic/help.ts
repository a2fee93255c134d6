import type { Endpoint, Service } from '../../core/contracts/registry.ts'
import { findWidth, formatColumns } from '../ui/output.ts'
import { type Field, toFlag, toLeaves } from './fields.ts'
import { toWords } from './match-endpoint.ts'
import { LOCAL_FLAGS } from './read-flags.ts'

type Row = readonly [left: string, right: string]

/** Line width without a terminal. */
const WIDTH = 100
/** Indent of each line. */
const TAB = 8
/** Maximum number of allowed values listed per field. */
const MAX_CHOICES = 16

/** Output of `mx <service> --help` (reference 8.3). */
export function formatServiceHelp(service: string, versions: readonly Service[]): string {
  const endpoints = new Map(
    versions.flatMap(({ endpoints }) => endpoints).map((each) => [toWords(service, each), each]),
  )
  const rows = [...endpoints]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([words, endpoint]): Row => [words, describeEndpoint(endpoint)])
  return formatSections({
    NAME: [`mx ${service}`],
    VERSION: versions.map(({ version }) => version),
    USAGE: [`mx ${service} [command]`],
    COMMANDS: formatRows(rows),
  })
}

/** Output of `mx <service> <endpoint> --help`. */
export function formatEndpointHelp(
  service: string,
  endpoint: Endpoint,
  fields: readonly Field[],
): string {
  const command = `mx ${service} ${toWords(service, endpoint)}`
  const description = describeEndpoint(endpoint)
  const required = new Set(findRequired(fields))
  const leaves = toLeaves(fields)
  const localFlags = LOCAL_FLAGS.map(([flag, text]): Row => [`--${flag}`, text])
  return formatSections({
    NAME: [command],
    DESCRIPTION: description === '' ? [] : [description],
    USAGE: [`${command} [flags]`],
    FLAGS: formatRows(
      leaves.map((field) => [
        `${toFlag(field)} ${field.type}`,
        describeField(field, required.has(field)),
      ]),
    ),
    EXAMPLE: [[command, ...[...required].map(toExample)].join(' ')],
    'GLOBAL FLAGS': formatRows(localFlags),
  })
}

/** Omits empty sections. */
function formatSections(sections: Readonly<Record<string, readonly string[]>>): string {
  return Object.entries(sections)
    .filter(([, lines]) => lines.length > 0)
    .map(([title, lines]) => `${title}:\n${lines.map((line) => `\t${line}\n`).join('')}`)
    .join('\n')
}

/** Formats two columns, without indent. */
function formatRows(rows: readonly Row[]): readonly string[] {
  if (rows.length === 0) return []
  return formatColumns(rows, (findWidth() ?? WIDTH) - TAB)
    .split('\n')
    .map((line) => line.slice(2).trimEnd())
}

function describeEndpoint({ metadata }: Endpoint): string {
  const { description = '', stream } = metadata
  return [description, ...(stream === 'true' ? ['(stream)'] : [])].filter(Boolean).join(' ')
}

function describeField(
  { description, default: fallback, choices }: Field,
  isRequired: boolean,
): string {
  const hasDefault = fallback !== undefined && fallback !== '' && JSON.stringify(fallback) !== '{}'
  return [
    description,
    choices.length > 0 && `One of ${choices.slice(0, MAX_CHOICES).map(String).join(', ')}.`,
    isRequired && '(required)',
    hasDefault &&
      `(default: ${typeof fallback === 'string' ? fallback : JSON.stringify(fallback)})`,
  ]
    .filter(Boolean)
    .join(' ')
}

/** Leaf fields that every request requires. Fields of optional messages are excluded. */
function findRequired(fields: readonly Field[]): readonly Field[] {
  return fields
    .filter(({ isRequired }) => isRequired)
    .flatMap((field) => (field.fields.length === 0 ? [field] : findRequired(field.fields)))
}

function toExample(field: Field): string {
  return `${toFlag(field)}=<${field.type}>`
}
