/**
 * What this program uses of TypeBox: every other file imports it from here. The build makes one file of this one and
 * the library (`scripts/bundle-schema.ts`), which loads ten times as fast as the library's hundreds of modules.
 */
export { type Static, type TObject, Type } from 'typebox'
export { Default, Errors } from 'typebox/value'
