import { type TUnsafe, Type } from '../../core/schema.ts'
import type { AccountChecks } from '../../sdk/auth/account-checks.ts'
import type { Context } from '../../sdk/context.ts'
import { badRequest, notFound } from '../../sdk/errors.ts'
import { toNamespace } from '../../sdk/namespace.ts'
import { type Endpoints, endpoint } from '../../sdk/service/endpoint.ts'
import type { Change, Changes } from './changes.ts'
import {
  ConfigValueInput,
  ConfigValueView,
  GetOptionsSchema,
  Listing,
  MAX_PAGE,
  Namespace,
  Path,
  type Reading,
  Setting,
  Version,
  Watching,
} from './messages.ts'
import { toPage } from './page.ts'
import { createSealer } from './secrets/sealer.ts'
import type { SecretKey } from './secrets/secret-key.ts'
import { noSuchVersion, type Snapshot, type Snapshots } from './snapshots.ts'
import { setNode } from './tree/merge.ts'
import { parseValue } from './tree/parse-value.ts'
import { splitConfigPath } from './tree/path.ts'
import { mustBeReader } from './tree/readers.ts'
import { findNode, removeNode } from './tree/tree.ts'
import { formatTreeJson } from './tree/tree-text.ts'
import type { Watches } from './watches.ts'

export interface EndpointsOptions {
  readonly snapshots: Snapshots
  readonly changes: Changes
  readonly watches: Watches
  readonly secretKey: SecretKey | undefined
  /** Maximum length of a value in bytes. */
  readonly maxValueBytes: number
  readonly checks: AccountChecks
}

interface RequestOf {
  readonly namespace: string
  readonly path: string
  readonly secret: boolean
  /** Id used in errors. */
  readonly id: string
}

const ReadingMessage: TUnsafe<Reading> = Type.Unsafe(
  Type.Object({
    value: ConfigValueView,
    exists: Type.Boolean({ description: 'Whether the value exists.' }),
    version: Version,
  }),
)
/** Maximum length of a stored account id. */
const MAX_ACCOUNT = 256

/**
 * Endpoints of the `Config` handler (reference 3). Services may read; workloads may only read the subtree of their
 * name; administrators of the namespace have full access.
 */
export function createEndpoints(options: EndpointsOptions): Endpoints {
  const { snapshots, changes, watches, secretKey, maxValueBytes, checks } = options

  const namespaceOf = (requested: string, ctx: Context): string => {
    const namespace = requested || toNamespace(ctx, idOf(ctx))
    checks.mustBeAdmin(ctx, namespace, idOf(ctx))
    return namespace
  }
  /** Returns the namespace of a call that reads a path. */
  const readableOf = (requested: string, path: string, ctx: Context): string => {
    const namespace = requested || toNamespace(ctx, idOf(ctx))
    mustBeReader(checks, ctx, { namespace, path, id: idOf(ctx) })
    return namespace
  }

  /** Converts the node of a path to a message. */
  function toConfigResult(
    { head, version, tree }: Snapshot,
    { namespace, path, secret, id }: RequestOf,
  ): Reading {
    const names = splitConfigPath(path)
    const node = findNode(tree, names)
    if (node === undefined) return { value: toValue('null'), exists: false, version }
    const { open } = createSealer({ namespace, secretKey, keyId: head?.keyId, id })
    const data = secret
      ? formatTreeJson(node, names, (placed) => open(placed.names, placed.leaf.text))
      : formatTreeJson(node)
    return { value: toValue(data), exists: true, version }
  }

  return {
    get: endpoint({
      readOnly: true,
      description: 'Reads a value or a subtree.',
      request: Type.Object({ namespace: Namespace, path: Path, options: GetOptionsSchema }),
      response: ReadingMessage,
      async handle({ namespace: requested, path, options: { secret, version } }, ctx) {
        const namespace = readableOf(requested, path, ctx)
        const id = idOf(ctx)
        const snapshot =
          version === 0
            ? await snapshots.read(namespace)
            : await snapshots.readVersion(namespace, version, id)
        if (snapshot.version === 0)
          throw notFound(id, `not found: ${namespace} has no configuration`)
        return toConfigResult(snapshot, { namespace, path, secret, id })
      },
    }),

    set: endpoint({
      description: 'Sets a value; objects are merged with the existing ones.',
      request: Type.Object({
        namespace: Namespace,
        path: Path,
        value: ConfigValueInput,
        options: Setting,
      }),
      response: Type.Object({ version: Version }),
      async handle({ namespace: requested, path, value: { data }, options: { secret } }, ctx) {
        const id = idOf(ctx)
        const bytes = Buffer.byteLength(data)
        if (bytes > maxValueBytes)
          throw badRequest(
            id,
            `request.value.data must be at most ${maxValueBytes} bytes, got ${bytes}`,
          )
        const namespace = namespaceOf(requested, ctx)
        const names = splitConfigPath(path)
        const value = parseValue(data, names, id)
        const version = await changes.make({
          ...toChange(ctx, bytes),
          namespace,
          action: 'set',
          path,
          secret,
          edit({ tree, head }) {
            const sealer = createSealer({ namespace, secretKey, keyId: head?.keyId, id })
            return setNode(tree, names, value, { secret, sealer, id })
          },
        })
        return { version }
      },
    }),

    delete: endpoint({
      description: 'Deletes a value or a subtree, if it exists.',
      request: Type.Object({ namespace: Namespace, path: Path }),
      response: Type.Object({ version: Version }),
      async handle({ namespace, path }, ctx) {
        const version = await changes.make({
          ...toChange(ctx, 0),
          namespace: namespaceOf(namespace, ctx),
          action: 'delete',
          path,
          secret: false,
          edit: ({ tree }) => ({ tree: removeNode(tree, splitConfigPath(path)) }),
        })
        return { version }
      },
    }),

    list: endpoint({
      readOnly: true,
      description: 'Lists the paths of values, paginated, without the values.',
      request: Type.Object({ namespace: Namespace, path: Path, options: Listing }),
      response: Type.Object({
        entries: Type.Array(Type.Object({ path: Type.String(), secret: Type.Boolean() })),
        next: Type.Optional(
          Type.String({ description: 'Cursor of the next page; absent on the last page.' }),
        ),
      }),
      async handle({ namespace, path, options: { limit, after } }, ctx) {
        const { tree } = await snapshots.read(readableOf(namespace, path, ctx))
        return toPage(tree, path, after, Math.min(limit || MAX_PAGE, MAX_PAGE))
      },
    }),

    history: endpoint({
      readOnly: true,
      description: 'Lists the stored versions, newest first.',
      request: Type.Object({ namespace: Namespace }),
      response: Type.Object({
        versions: Type.Array(
          Type.Object({
            version: Version,
            timestamp: Type.Integer({ description: 'Seconds since 1970.' }),
            account: Type.String({ description: 'Author; empty if anonymous.' }),
            action: Type.String({ description: 'set, delete or rollback.' }),
            path: Type.String(),
            secret: Type.Boolean(),
          }),
        ),
      }),
      async handle({ namespace }, ctx) {
        const { head } = await snapshots.read(namespaceOf(namespace, ctx))
        const versions = head?.versions ?? []
        return { versions: versions.map(({ keyId: _, ...entry }) => entry).reverse() }
      },
    }),

    rollback: endpoint({
      description: 'Rolls back to an earlier version by writing it as a new version.',
      request: Type.Object({
        namespace: Namespace,
        version: Type.Integer({ minimum: 1, description: 'Version to restore.' }),
      }),
      response: Type.Object({ version: Version }),
      async handle({ namespace: requested, version: requestedVersion }, ctx) {
        const namespace = namespaceOf(requested, ctx)
        const id = idOf(ctx)
        const version = await changes.make({
          ...toChange(ctx, 0),
          namespace,
          action: 'rollback',
          path: '',
          secret: false,
          async edit({ tree, head, version: last }, readVersion) {
            const old = requestedVersion === last ? tree : await readVersion(requestedVersion)
            if (old !== undefined) return { tree: old }
            throw noSuchVersion(namespace, requestedVersion, head?.versions ?? [], id)
          },
        })
        return { version }
      },
    }),

    watch: endpoint({
      readOnly: true,
      description: 'Streams the value of a path, immediately and after each change.',
      request: Type.Object({ namespace: Namespace, path: Path, options: Watching }),
      response: ReadingMessage,
      stream: 'server',
      async *handle({ namespace: requested, path, options: { secret } }, ctx) {
        const namespace = readableOf(requested, path, ctx)
        const id = idOf(ctx)
        for await (const snapshot of watches.open({ namespace, path }, id, () => ctx.start()))
          yield toConfigResult(snapshot, { namespace, path, secret, id })
      },
    }),
  }
}

/**
 * Returns the id used in errors (reference 2.2), such as `config.Config.Get`, without the caller's
 * namespace prefix.
 */
function idOf(ctx: Context): string {
  return `config.${ctx.endpoint}`
}

function toChange(
  ctx: Context,
  bytes: number,
): Pick<Change, 'account' | 'id' | 'signal' | 'bytes'> {
  const account = ctx.account?.id.slice(0, MAX_ACCOUNT) ?? ''
  return { account, id: idOf(ctx), signal: ctx.signal, bytes }
}

function toValue(data: string): Reading['value'] {
  return { data, format: 'json' }
}
