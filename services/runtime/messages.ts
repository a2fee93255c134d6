import { RUNTIME_STATUS } from '../../core/contracts/runtime.ts'
import { isNamespaceName } from '../../core/registry/namespace-name.ts'
import { type TUnsafe, Type } from '../../core/schema.ts'
import type { Context } from '../../sdk/context.ts'
import { DEFAULT_NAMESPACE, NAMESPACE_RULE, toNamespace } from '../../sdk/namespace.ts'
import { Bytes } from '../../sdk/schema/schema-types.ts'
import { isObjectName, isVersion, NAME_RULE, VERSION_RULE } from './names.ts'

/** A runtime object as callers name it, and are told (specification: Runtime object; reference 7.1). */
export interface ServiceMessage {
  readonly name: string
  /** Empty: `latest`, or where that is not there, the only one there is. */
  readonly version: string
  /** An address of a repository, or `source://<name>:<version>` of what was uploaded. */
  readonly source: string
  /** Number of its state (reference 7.2). */
  readonly status: number
  /** To callers with the keys of reference 7.2, and `update` as long as one is under way: how far it is. */
  readonly metadata: Readonly<Record<string, string>>
}

/** What a call is about: one of them. */
export interface ResourceMessage {
  readonly service?: ServiceMessage
  /** Nothing is done for the other three: they are those of other runtimes. */
  readonly namespace?: unknown
  readonly networkpolicy?: unknown
  readonly resourcequota?: unknown
}

/** How to run it. Of an update, what is empty stays as it was. */
export interface RunOptions {
  /** Empty: that of the call. */
  readonly namespace: string
  readonly command: readonly string[]
  readonly args: readonly string[]
  readonly env: readonly string[]
  readonly secrets: Readonly<Record<string, string>>
  readonly type: string
  readonly image: string
  readonly entrypoint: string
  readonly volumes: Readonly<Record<string, string>>
  /** 0: as many as the project says, else 1. */
  readonly instances: number
  readonly force: boolean
  readonly protocol: '' | 'mx' | 'http'
  readonly port: number
  /** Bytes; 0: as the project says. */
  readonly memory: number
  /** Cores; 0: as the project says. */
  readonly cpus: number
  readonly allow_scripts: boolean
  readonly credentials: string
}

/** Which runtime objects. */
export interface ReadOptions {
  readonly service: string
  readonly version: string
  readonly type: string
  readonly namespace: string
}

/** A line of a log (reference 7.1). */
export interface LogMessage {
  /** Unix time in milliseconds. */
  readonly timestamp: number
  /** `instance` and `stream`. */
  readonly metadata: Readonly<Record<string, string>>
  readonly message: string
}

/** `<name>=<value>` of the environment. */
const VARIABLE = /^[A-Za-z_][A-Za-z0-9_]{0,254}=/
const VARIABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,254}$/
const INSTANCES_MAX = 100

const text = (description: string) => Type.String({ default: '', description })
const texts = (description: string) => Type.Array(Type.String(), { default: [], description })
const Namespace = Type.Refine(
  text(`Where; empty: in that of the call, else in ${DEFAULT_NAMESPACE}.`),
  (name) => name === '' || isNamespaceName(name),
  () => NAMESPACE_RULE,
)
const Name = Type.Refine(
  text('Of the runtime object.'),
  (name) => name === '' || isObjectName(name),
  () => NAME_RULE,
)
const Version = Type.Refine(
  text('The reference it is run with; empty: latest, or the only one there is.'),
  (version) => version === '' || isVersion(version),
  () => VERSION_RULE,
)
const Labels = Type.Record(Type.String(), Type.String(), { default: {} })
/** A number that clients of 64 bits write as text (reference 15.11). */
const count = (description: string): TUnsafe<number> =>
  Type.Codec(
    Type.Refine(
      Type.Unsafe<number | string>({
        ...{ type: ['integer', 'string'], format: 'int64', default: 0, description },
      }),
      (value) => /^[0-9]{1,15}$/.test(String(value)),
      () => 'must be a whole number, not below 0',
    ),
  )
    .Decode(Number)
    .Encode((value) => value) as unknown as TUnsafe<number>

const service = {
  name: Name,
  version: Version,
  source: text('Address of a repository, or source://<name>:<version> of what was uploaded.'),
  status: Type.Integer({ default: 0, description: 'Told, not taken.' }),
  metadata: Labels,
}

export const Resource: TUnsafe<ResourceMessage> = Type.Unsafe(
  Type.Object(
    {
      service: Type.Optional(Type.Object(service)),
      namespace: Type.Optional(
        Type.Unknown({ description: 'Of other runtimes; nothing is done.' }),
      ),
      networkpolicy: Type.Optional(Type.Unknown({ description: 'As namespace.' })),
      resourcequota: Type.Optional(Type.Unknown({ description: 'As namespace.' })),
    },
    { default: {} },
  ),
)

export const Options: TUnsafe<RunOptions> = Type.Unsafe(
  Type.Object(
    {
      namespace: Namespace,
      command: texts('Program and arguments, in place of what the project says.'),
      args: texts('Behind those of the command.'),
      env: Type.Refine(
        texts('<name>=<value> each.'),
        (list) => list.every((one) => VARIABLE.test(one) && !one.includes('\0')),
        () => 'must each be <name>=<value>, the name of letters, digits and underscores',
      ),
      secrets: Type.Refine(
        Type.Record(Type.String(), Type.String(), {
          ...{ default: {}, writeOnly: true },
          description: 'More of the environment, encrypted where it is kept, and shown to nobody.',
        }),
        (secrets) => Object.keys(secrets).every((name) => VARIABLE_NAME.test(name)),
        () => 'must have names of letters, digits and underscores',
      ),
      type: text('A kind of the caller’s choice, to read by.'),
      image: text('Of a container, where the runtime runs those.'),
      entrypoint: text('Folder of the source to run, relative to its root.'),
      volumes: Type.Record(Type.String(), Type.String(), {
        ...{ default: {}, description: 'Of other runtimes.' },
      }),
      instances: Type.Integer({
        ...{ default: 0, minimum: 0, maximum: INSTANCES_MAX },
        description: 'Copies; 0: as the project says, else 1.',
      }),
      force: Type.Boolean({
        default: false,
        description: 'What is there already is no error: it is updated.',
      }),
      protocol: Type.Union([Type.Literal(''), Type.Literal('mx'), Type.Literal('http')], {
        default: '',
        description: 'mx: it registers itself. http: it listens on the port that PORT says.',
      }),
      port: Type.Integer({
        ...{ default: 0, minimum: 0, maximum: 65_535 },
        description: 'Where a program with protocol http listens; 0: where PORT says.',
      }),
      memory: count('Bytes a copy may take; 0: as the project says.'),
      cpus: Type.Number({
        ...{ default: 0, minimum: 0, maximum: 1024 },
        description: 'Cores a copy may take; 0: as the project says.',
      }),
      allow_scripts: Type.Boolean({
        default: false,
        description: 'Whether packages may run programs of theirs while they are installed.',
      }),
      credentials: Type.String({
        ...{ default: '', writeOnly: true },
        description: 'Token of the repository.',
      }),
    },
    { default: {} },
  ),
)

export const Reading: TUnsafe<ReadOptions> = Type.Unsafe(
  Type.Object(
    {
      service: Type.Refine(
        text('Name of the runtime object; empty: all.'),
        (name) => name === '' || isObjectName(name),
        () => NAME_RULE,
      ),
      version: Type.Refine(
        text('Empty: all.'),
        (version) => version === '' || isVersion(version),
        () => VERSION_RULE,
      ),
      type: text('Empty: all.'),
      namespace: Namespace,
    },
    { default: {} },
  ),
)

export const Place: TUnsafe<{ readonly namespace: string }> = Type.Unsafe(
  Type.Object({ namespace: Namespace }, { default: {} }),
)

/** A runtime object by its name and version. */
export const Named: TUnsafe<{ readonly name: string; readonly version: string }> = Type.Unsafe(
  Type.Object({ name: Name, version: Version }, { default: {} }),
)

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
export const Lines: TUnsafe<number> = count('The last so many lines that are there; 0: all.')
export const Since: TUnsafe<number> = count(
  'Leaves out what was written before, Unix time in seconds.',
)
export const LogLineView: TUnsafe<LogMessage> = Type.Unsafe(
  Type.Object({
    timestamp: Type.Integer({ description: 'Unix time in milliseconds.' }),
    metadata: Type.Record(Type.String(), Type.String(), { description: 'instance and stream.' }),
    message: Type.String(),
  }),
)
export const Data: TUnsafe<Uint8Array> = Type.Unsafe(
  Bytes({ default: '', description: 'Next bytes; base64 in JSON.' }),
)

/** The namespace of a call: what the request names, else that it was made in. */
export function namespaceOf({ namespace }: { readonly namespace: string }, ctx: Context): string {
  return namespace || toNamespace(ctx, idOf(ctx))
}

/** Of errors (reference 2.2): `runtime.Runtime.Create`, whatever namespace the caller put in front. */
export function idOf(ctx: Context): string {
  return `runtime.${ctx.endpoint}`
}
