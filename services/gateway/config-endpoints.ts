import { Type } from '../../core/schema.ts'
import type { Context } from '../../sdk/context.ts'
import { unavailable } from '../../sdk/errors.ts'
import { type Endpoints, endpoint } from '../../sdk/service/endpoint.ts'
import { Applied, Diff, Version } from './config-messages.ts'
import type { ConfigVersions } from './config-versions.ts'

export interface ConfigEndpointsOptions {
  /** Undefined while the server is starting. */
  readonly versions: () => ConfigVersions | undefined
  /** Checks whether the caller is an operator. @throws {GatewayError} */
  readonly mustBeOperator: (ctx: Context) => void
  /** Returns the id used in errors. */
  readonly idOf: (ctx: Context) => string
}

const MAX_TEXT = 1024 * 1024
const Text = Type.String({
  ...{ minLength: 1, maxLength: MAX_TEXT },
  description: 'Contents of mx.yaml.',
})
const IfMatch = Type.String({
  ...{ minLength: 1, maxLength: 100 },
  description:
    'ETag of the version to replace, or * for any version. If another version is in use, the call fails with 412.',
})

/** Endpoints for the configuration versions of the gateway, for operators only. */
export function createVersionEndpoints(options: ConfigEndpointsOptions): Endpoints {
  const { versions, mustBeOperator, idOf } = options

  const open = (ctx: Context): ConfigVersions => {
    mustBeOperator(ctx)
    const running = versions()
    if (running === undefined) throw unavailable(idOf(ctx), 'the gateway is starting')
    return running
  }

  return {
    config: endpoint({
      readOnly: true,
      description: 'Returns the version of the configuration in use.',
      request: Type.Object({}),
      response: Type.Object({ version: Version }),
      handle: (_, ctx) => ({ version: open(ctx).current() }),
    }),

    history: endpoint({
      readOnly: true,
      description: 'Lists the versions of the configuration.',
      request: Type.Object({}),
      response: Type.Object({ versions: Type.Array(Version, { description: 'Oldest first.' }) }),
      handle: (_, ctx) => ({ versions: [...open(ctx).list()] }),
    }),

    diff: endpoint({
      description: 'Compares a configuration with the one in use, without changing it.',
      request: Type.Object({ text: Text }),
      response: Diff,
      handle: ({ text }, ctx) => open(ctx).diff(text),
    }),

    apply: endpoint({
      idempotent: false,
      description: 'Replaces the configuration for new requests and writes the configuration file.',
      request: Type.Object({ text: Text, if_match: IfMatch }),
      response: Applied,
      handle: ({ text, if_match }, ctx) =>
        open(ctx).apply(text, { ifMatch: if_match, author: toAuthor(ctx) }),
    }),

    rollback: endpoint({
      idempotent: false,
      description: 'Applies an earlier version of the configuration as a new one.',
      request: Type.Object({
        version: Type.Integer({
          ...{ minimum: 0, default: 0 },
          description: 'Version number; 0 for the version before the current one.',
        }),
        if_match: IfMatch,
      }),
      response: Applied,
      handle: ({ version, if_match }, ctx) =>
        open(ctx).rollback(version, { ifMatch: if_match, author: toAuthor(ctx) }),
    }),
  }
}

/** Returns the author of a change. Without an authorizer, there are no accounts. */
export function toAuthor({ account }: Context): string {
  return account === undefined ? 'anonymous' : `${account.issuer}/${account.id}`
}
