/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names: the keys on a server and their values. All begin with "tilejit:1:", so that other programs may use the same database,
 * and the keys of one class have its id in braces, so that one node of a cluster holds them.
 *
 *     tilejit:1:classes                 hash: class -> JSON that describes it
 *     tilejit:1:{class}:queue           stream: shapes to be tuned; group "w"
 *     tilejit:1:{class}:compile         stream: the same, for those that compile ahead
 *     tilejit:1:{class}:queued          hash: shape -> its entry in both
 *     tilejit:1:{class}:records         hash: shape -> sealed record
 *     tilejit:1:{class}:failures        hash: shape -> how often a worker failed or died with it
 *     tilejit:1:{class}:poison          hash: shape -> JSON: problem, why
 *     tilejit:1:{class}:workers         hash: worker -> "<ms when it was seen> <token> <JSON>"
 *     tilejit:1:{class}:clock           ms of the server when a worker was last seen: does its clock jump back?
 *     tilejit:1:{class}:counts          hash: submitted, done, failed, poisoned since the queue was last empty
 *     tilejit:1:{class}:rate            hash: ten seconds -> how many shapes were done in them
 *     tilejit:1:{class}:generation:NAME sealed text of records
 *     tilejit:1:image:KEY               sealed digest; expires
 *     tilejit:1:bytes:DIGEST            an image; expires
 *     tilejit:1:lease:KEY               who compiles that image now; expires
 */
#ifndef TJ_FLEET_NAMES_H
#define TJ_FLEET_NAMES_H

#define FLEET_PREFIX "tilejit:1:"

enum { FLEET_NAME_BYTES = 192 };

#endif
