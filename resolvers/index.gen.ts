// Written by `npm run gen`, not by hand.
import type { Resolver } from '../core/route.ts'
import host from './host.ts'
import path from './path.ts'
import proxy from './proxy.ts'
import vpath from './vpath.ts'

/** Every file of this folder by its name; each exports a resolver. */
export const resolvers: Readonly<Record<string, Resolver>> = {
  host,
  path,
  proxy,
  vpath,
}
