// Written by `npm run gen`, not by hand.
import type { Resolver } from '../core/route.ts'

/** Every file of this folder by its name; each exports a resolver. */
export const resolvers: Readonly<Record<string, Resolver>> = {}
