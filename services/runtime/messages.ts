import { RUNTIME_STATUS } from '../../core/contracts/runtime.ts'
import { isNamespaceName } from '../../core/registry/namespace-name.ts'
import { type TUnsafe, Type } from '../../core/schema.ts'
import type { Context } from '../../sdk/context.ts'
import { DEFAULT_NAMESPACE, NAMESPACE_RULE, toNamespace } from '../../sdk/namespace.ts'
import { Bytes } from '../../sdk/schema/schema-types.ts'
import { isObjectName, isVersion, NAME_RULE, VERSION_RULE } from './names.ts'

/** A runtime object in requests and responses (specification: Runtime object; reference 7.1). */
export interface ServiceMessage {
  readonly name: string
  /** Version. If empty, `latest`, or the only version if `latest` does not exist. */
  readonly version: string
  /** Repository address, or `source://<name>:<version>` of an upload. */
  readonly source: string
  /** Status number (reference 7.2). */
  readonly status: number
  /**
   * Metadata. In responses, it also contains the keys of reference 7.2, and `update` with the phase
   * of an update in progress.
   */
  readonly metadata: Readonly<Record<string, string>>
}

/** Resource of a call. Exactly one field must be set. */
export interface ResourceMessage {
  readonly service?: ServiceMessage
  /** Types used by other runtimes, which are ignored here. */
  readonly namespace?: unknown
  readonly networkpolicy?: unknown
  readonly resourcequota?: unknown
}

/** Options for running a service. In an update, empty options keep their values. */
export interface RunOptions {
  /** Namespace; empty for the namespace of the call. */
  readonly namespace: string
  readonly command: readonly string[]
  readonly args: readonly string[]
  readonly env: readonly string[]
  readonly secrets: Readonly<Record<string, string>>
  readonly type: string
  readonly image: string
  readonly entrypoint: string
  readonly volumes: Readonly<Record<string, string>>
  /** Number of instances. If 0, defined by the project, or 1. */
  readonly instances: number
  readonly force: boolean
  readonly protocol: '' | 'mx' | 'http'
  readonly port: number
  /** Bytes; 0 if defined by the project. */
  readonly memory: number
  /** Cores; 0 if defined by the project. */
  readonly cpus: number
  readonly allow_scripts: boolean
  readonly credentials: string
}

export interface ReadOptions {
  readonly service: string
  readonly version: string
  readonly type: string
  readonly namespace: string
}

/** A log line (reference 7.1). */
export interface LogMessage {
  /** Unix time in milliseconds. */
  readonly timestamp: number
  /** Keys are `instance` and `stream`. */
  readonly metadata: Readonly<Record<string, string>>
  readonly message: string
}

/** Environment variable as `<name>=<value>`. */
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,254}=/
const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,254}$/
const INSTANCES_MAX = 100

const text = (description: string) => Type.String({ default: '', description })
const texts = (description: string) => Type.Array(Type.String(), { default: [], description })
const Namespace = Type.Refine(
  text(`Namespace; empty for the namespace of the call, otherwise ${DEFAULT_NAMESPACE}.`),
  (name) => name === '' || isNamespaceName(name),
  () => NAMESPACE_RULE,
)
const Name = Type.Refine(
  text('Name of the runtime object.'),
  (name) => name === '' || isObjectName(name),
  () => NAME_RULE,
)
const Version = Type.Refine(
  text('Version; empty for latest, or the only version.'),
  (version) => version === '' || isVersion(version),
  () => VERSION_RULE,
)
const Labels = Type.Record(Type.String(), Type.String(), { default: {} })
/** An integer that clients may write as a string if it exceeds 53 bits (reference 15.11). */
const count = (description: string): TUnsafe<number> =>
  Type.Codec(
    Type.Refine(
      Type.Unsafe<number | string>({
        ...{ type: ['integer', 'string'], format: 'int64', default: 0, description },
      }),
      (value) => /^[0-9]{1,15}$/.test(String(value)),
      () => 'must be a non-negative integer',
    ),
  )
    .Decode(Number)
    .Encode((value) => value) as unknown as TUnsafe<number>

const service = {
  name: Name,
  version: Version,
  source: text('Repository address, or source://<name>:<version> of an upload.'),
  status: Type.Integer({ default: 0, description: 'Read-only.' }),
  metadata: Labels,
}

export const Resource: TUnsafe<ResourceMessage> = Type.Unsafe(
  Type.Object(
    {
      service: Type.Optional(Type.Object(service)),
      namespace: Type.Optional(Type.Unknown({ description: 'Type of other runtimes; ignored.' })),
      networkpolicy: Type.Optional(
        Type.Unknown({ description: 'Type of other runtimes; ignored.' }),
      ),
      resourcequota: Type.Optional(
        Type.Unknown({ description: 'Type of other runtimes; ignored.' }),
      ),
    },
    { default: {} },
  ),
)

export const Options: TUnsafe<RunOptions> = Type.Unsafe(
  Type.Object(
    {
      namespace: Namespace,
      command: texts('Program and arguments; overrides the project.'),
      args: texts('Appended to the command.'),
      env: Type.Refine(
        texts('Environment variables, <name>=<value>.'),
        (list) => list.every((entry) => VARIABLE.test(entry) && !entry.includes('\0')),
        () => 'must all be <name>=<value> with names of letters, digits and underscores',
      ),
      secrets: Type.Refine(
        Type.Record(Type.String(), Type.String(), {
          ...{ default: {}, writeOnly: true },
          description: 'Secret environment variables, encrypted at rest and never returned.',
        }),
        (secrets) => Object.keys(secrets).every((name) => VARIABLE_NAME.test(name)),
        () => 'must have names of letters, digits and underscores',
      ),
      type: text('Free-form type, which reads can filter by.'),
      image: text('Container image, if the runtime runs containers.'),
      entrypoint: text('Folder to run, relative to the root of the source.'),
      volumes: Type.Record(Type.String(), Type.String(), {
        ...{ default: {}, description: 'Used by other runtimes.' },
      }),
      instances: Type.Integer({
        ...{ default: 0, minimum: 0, maximum: INSTANCES_MAX },
        description: 'Number of instances; 0 uses the number defined by the project, or 1.',
      }),
      force: Type.Boolean({
        default: false,
        description: 'Update an existing service instead of failing.',
      }),
      protocol: Type.Union([Type.Literal(''), Type.Literal('mx'), Type.Literal('http')], {
        default: '',
        description:
          'mx: the program registers itself. http: the program listens on the port in PORT.',
      }),
      port: Type.Integer({
        ...{ default: 0, minimum: 0, maximum: 65_535 },
        description: 'Port of a program with protocol http; 0 to assign it through PORT.',
      }),
      memory: count('Memory limit per instance in bytes; 0 if defined by the project.'),
      cpus: Type.Number({
        ...{ default: 0, minimum: 0, maximum: 1024 },
        description: 'CPU limit per instance in cores; 0 if defined by the project.',
      }),
      allow_scripts: Type.Boolean({
        default: false,
        description: 'Allow install scripts of packages.',
      }),
      credentials: Type.String({
        ...{ default: '', writeOnly: true },
        description: 'Access token of the repository.',
      }),
    },
    { default: {} },
  ),
)

export const ReadOptionsSchema: TUnsafe<ReadOptions> = Type.Unsafe(
  Type.Object(
    {
      service: Type.Refine(
        text('Name of the runtime object; empty for all.'),
        (name) => name === '' || isObjectName(name),
        () => NAME_RULE,
      ),
      version: Type.Refine(
        text('Empty for all.'),
        (version) => version === '' || isVersion(version),
        () => VERSION_RULE,
      ),
      type: text('Empty for all.'),
      namespace: Namespace,
    },
    { default: {} },
  ),
)

export const NamespaceOptionsSchema: TUnsafe<{ readonly namespace: string }> = Type.Unsafe(
  Type.Object({ namespace: Namespace }, { default: {} }),
)

export const ServiceIdSchema: TUnsafe<{ readonly name: string; readonly version: string }> =
  Type.Unsafe(Type.Object({ name: Name, version: Version }, { default: {} }))

export const RuntimeServiceView: TUnsafe<ServiceMessage> = Type.Unsafe(
  Type.Object({
    name: Type.String(),
    version: Type.String(),
    source: Type.String(),
    status: Type.Integer({
      description: Object.entries(RUNTIME_STATUS)
        .map(([name, number]) => `${number}: ${name}`)
        .join(', '),
    }),
    metadata: Type.Record(Type.String(), Type.String()),
  }),
)

export const ServiceName: TUnsafe<string> = Type.Unsafe(Name)
export const ServiceVersion: TUnsafe<string> = Type.Unsafe(Version)
export const Lines: TUnsafe<number> = count('Number of most recent lines; 0 for all.')
export const Since: TUnsafe<number> = count('Omits lines written before this Unix time in seconds.')
export const LogLineView: TUnsafe<LogMessage> = Type.Unsafe(
  Type.Object({
    timestamp: Type.Integer({ description: 'Unix time in milliseconds.' }),
    metadata: Type.Record(Type.String(), Type.String(), { description: 'instance and stream.' }),
    message: Type.String(),
  }),
)
export const Data: TUnsafe<Uint8Array> = Type.Unsafe(
  Bytes({ default: '', description: 'Next chunk; base64 in JSON.' }),
)

/**
 * Returns the namespace of a call: from the request, otherwise the namespace in which the call was
 * made.
 */
export function namespaceOf({ namespace }: { readonly namespace: string }, ctx: Context): string {
  return namespace || toNamespace(ctx, idOf(ctx))
}

/**
 * Returns the id used in errors (reference 2.2), such as `runtime.Runtime.Create`, without the
 * caller's namespace prefix.
 */
export function idOf(ctx: Context): string {
  return `runtime.${ctx.endpoint}`
}
