// Written by `npm run gen`, not by hand.
import type { ResolverPart } from '../core/route.ts'
import endpoint from './endpoint.ts'
import event from './event.ts'
import grpc from './grpc.ts'
import host from './host.ts'
import path from './path.ts'
import proxy from './proxy.ts'
import rpc from './rpc.ts'
import subdomain from './subdomain.ts'
import vpath from './vpath.ts'

/** Files of this folder by name; each exports a resolver or a function that creates one. */
export const resolvers: Readonly<Record<string, ResolverPart>> = {
  endpoint,
  event,
  grpc,
  host,
  path,
  proxy,
  rpc,
  subdomain,
  vpath,
}
