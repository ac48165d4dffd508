/* SPDX-License-Identifier: Apache-2.0 */
/* tier: quick */
/* The store on a disk that is full, forbidden, limited or not there: it goes on, and no such state is an error. */
#include "disk_store_test.h"

TestSuite(disk_troubles, .init = make_root, .fini = remove_root);

/* Roots that cannot be used: each a miss, one warning, and no harm. */
Test(disk_troubles, goes_on_without_a_disk)
{
    static const char *const kinds[] = {"file", "link", "fifo", "open to others", "dev", "long", "none"};
    const tj_key key = key_of("one");

    for (int kind = 0; kind < 7; kind++) {
        char path[6000];
        tj_disk_store *store;

        snprintf(path, sizeof path, "%s/%d", root, kind);
        switch (kind) {
        case 0:
            rewrite(path, "x", 1);
            break;
        case 1:
            cr_assert(eq(int, symlink(root, path), 0));
            break;
        case 2:
            cr_assert(eq(int, mkfifo(path, 0600), 0));
            break;
        case 3:
            cr_assert(eq(int, mkdir(path, 0700), 0));
            chmod(path, 0777);
            break;
        case 4:
            strcpy(path, "/dev/null");
            break;
        case 5:
            memset(path, 'x', 5000);
            path[0] = '/';
            path[5000] = '\0';
            break;
        default:
            break;
        }
        warnings = 0;
        store = tj_disk_store_create(kind == 6 ? NULL : path, NULL, 1 << 20, &test_log);
        put(store, &key, "ptx");
        put(store, &key, "ptx");
        cr_expect(eq(int, get(store, &key, "ptx"), 0), "%s", kinds[kind]);
        cr_expect(eq(int, warnings, kind == 6 ? 0 : 1), "%s", kinds[kind]);
        cr_expect(ne(ptr, (void *)tj_disk_store_trouble(store), NULL), "%s", kinds[kind]);
        tj_disk_store_unlock(tj_disk_store_lock(store, &key, 1));
        tj_disk_store_free(store);
    }
}

/* In a child, as nobody: root may write anywhere. 0: all as it should be. */
static int work_where_writing_is_forbidden(void)
{
    const tj_key key = key_of("one"), other = key_of("two");
    tj_disk_store *store;
    int faults = 0;

    if (geteuid() == 0 && setuid(65534) != 0)
        return 100;
    store = open_store(1 << 20);
    faults += get(store, &key, "ptx") != 1;
    put(store, &other, "ptx");
    faults += get(store, &other, "ptx") != 0;
    faults += warnings != 1;
    tj_disk_store_free(store);
    return faults;
}

Test(disk_troubles, goes_on_where_it_may_not_write)
{
    const tj_key key = key_of("one");
    tj_disk_store *store = open_store(1 << 20);
    char command[256];
    int status = -1;
    pid_t child;

    put(store, &key, "ptx");
    tj_disk_store_free(store);
    snprintf(command, sizeof command, "chmod -R a-w %s%s%s", root, geteuid() == 0 ? " && chown -R 65534 " : "",
             geteuid() == 0 ? root : "");
    cr_assert(eq(int, system(command), 0));
    child = fork();
    if (child == 0)
        _exit(work_where_writing_is_forbidden());
    cr_assert(eq(int, waitpid(child, &status, 0), child));
    cr_assert(eq(int, status, 0));
    snprintf(command, sizeof command, "chmod -R u+w %s", root);
    cr_assert(eq(int, system(command), 0));
}

Test(disk_troubles, takes_a_file_size_limit_for_a_full_disk_and_recovers)
{
    tj_disk_store *store = open_store(1 << 20);
    const struct rlimit none = {16, RLIM_INFINITY}, all = {RLIM_INFINITY, RLIM_INFINITY};
    const tj_key key = key_of("one");

    cr_assert(eq(int, setrlimit(RLIMIT_FSIZE, &none), 0));
    put(store, &key, "longer than sixteen bytes by far");
    cr_assert(eq(int, setrlimit(RLIMIT_FSIZE, &all), 0));
    cr_assert(eq(int, get(store, &key, "longer than sixteen bytes by far"), 0));
    cr_assert(eq(int, warnings, 1));
    for (int i = 0; i < 70; i++) /* space came back: after a while it is tried again */
        put(store, &key, "longer than sixteen bytes by far");
    cr_assert(eq(int, get(store, &key, "longer than sixteen bytes by far"), 1));
    tj_disk_store_free(store);
}

Test(disk_troubles, makes_its_folder_again_when_it_was_removed)
{
    tj_disk_store *store = open_store(1 << 20);
    const tj_key key = key_of("one");

    put(store, &key, "ptx");
    remove_root();
    cr_assert(eq(int, get(store, &key, "ptx"), 0));
    put(store, &key, "ptx");
    cr_assert(eq(int, get(store, &key, "ptx"), 1));
    cr_assert(eq(int, warnings, 0));
    tj_disk_store_free(store);
}

Test(disk_troubles, leaves_foreign_files_alone)
{
    tj_disk_store *store = open_store(1 << 20);
    const tj_key key = key_of("one");
    char path[256];

    put(store, &key, "ptx");
    snprintf(path, sizeof path, "%s/v1/notes.txt", root);
    rewrite(path, "mine", 4);
    cr_assert(eq(int, tj_disk_store_clear(store, false, NULL, NULL), TJ_OK));
    cr_assert(eq(int, access(path, F_OK), 0));
    tj_disk_store_free(store);
}

Test(disk_troubles, bounds_the_wait_for_a_lock)
{
    tj_disk_store *store = open_store(1 << 20);
    const tj_key key = key_of("one");
    const int held = tj_disk_store_lock(store, &key, 0);
    int again;

    cr_assert(ge(int, held, 0));
    cr_assert(eq(int, tj_disk_store_lock(store, &key, 20), -1));
    tj_disk_store_unlock(held);
    again = tj_disk_store_lock(store, &key, 20);
    cr_assert(ge(int, again, 0));
    tj_disk_store_unlock(again);
    tj_disk_store_free(store);
}

/* The number a child ends with: 0 when all is as it should be; a signal shows as 1000 and more. */
static int in_child(int (*work)(void))
{
    int status = -1;
    const pid_t child = fork();

    if (child == 0)
        _exit(work());
    if (waitpid(child, &status, 0) != child)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + status;
}

static int hit_below_a_file_size_limit(void)
{
    const struct rlimit none = {0, 0};
    const tj_key key = key_of("one");
    tj_disk_store *store = open_store(1 << 20);
    int faults;

    if (setrlimit(RLIMIT_FSIZE, &none) != 0)
        return 100;
    faults = get(store, &key, "ptx") != 1;
    faults += get(store, &key, "ptx") != 1;
    tj_disk_store_free(store);
    return faults;
}

Test(disk_troubles, survives_a_hit_where_no_file_may_grow)
{
    const tj_key key = key_of("one");
    tj_disk_store *store = open_store(1 << 20);

    put(store, &key, "ptx");
    tj_disk_store_free(store);
    cr_assert(eq(int, in_child(hit_below_a_file_size_limit), 0));
}

static int lock_with_closed_streams(void)
{
    const tj_key key = key_of("one");
    tj_disk_store *store = open_store(1 << 20);
    int lock, faults;

    close(0);
    close(1);
    close(2);
    lock = tj_disk_store_lock(store, &key, 0);
    faults = lock <= 2;
    faults += !(fcntl(lock, F_GETFD) & FD_CLOEXEC);
    put(store, &key, "ptx");
    faults += get(store, &key, "ptx") != 1;
    tj_disk_store_unlock(lock);
    faults += fcntl(0, F_GETFD) != -1 || fcntl(1, F_GETFD) != -1 || fcntl(2, F_GETFD) != -1; /* all given back */
    tj_disk_store_free(store);
    return faults;
}

Test(disk_troubles, never_takes_a_standard_stream)
{
    cr_assert(eq(int, in_child(lock_with_closed_streams), 0));
}

static int work_below_a_strict_umask(void)
{
    const tj_key key = key_of("one");
    tj_disk_store *store;
    int lock, faults = 0;

    if (geteuid() == 0 && (chown(root, 65534, 65534) != 0 || setuid(65534) != 0))
        return 100;
    umask(0777);
    for (int round = 0; round < 2; round++) {
        store = open_store(1 << 20);
        lock = tj_disk_store_lock(store, &key, 0);
        faults += lock < 0;
        tj_disk_store_unlock(lock);
        put(store, &key, "ptx");
        faults += get(store, &key, "ptx") != 1;
        tj_disk_store_free(store);
    }
    return faults + (warnings != 0);
}

Test(disk_troubles, works_under_a_umask_that_takes_everything)
{
    cr_assert(eq(int, in_child(work_below_a_strict_umask), 0));
}

static int look_at_forbidden_places(void)
{
    char path[128];
    tj_disk_store *store;
    int faults;

    if (geteuid() == 0 && setuid(65534) != 0)
        return 100;
    snprintf(path, sizeof path, "%s/not/there/yet", root);
    store = tj_disk_store_create(path, NULL, 1 << 20, &test_log);
    faults = !tj_disk_store_trouble(store) || !strstr(tj_disk_store_trouble(store), path);
    tj_disk_store_free(store);
    return faults;
}

Test(disk_troubles, says_beforehand_that_a_folder_cannot_be_made)
{
    char path[128];
    tj_disk_store *store;

    snprintf(path, sizeof path, "%s/not/there/yet", root);
    store = tj_disk_store_create(path, NULL, 1 << 20, &test_log);
    cr_expect(eq(ptr, (void *)tj_disk_store_trouble(store), NULL));
    cr_expect(ne(int, access(path, F_OK), 0), "asking makes nothing");
    tj_disk_store_free(store);
    cr_assert(eq(int, chmod(root, 0555), 0));
    cr_expect(eq(int, in_child(look_at_forbidden_places), 0));
    cr_assert(eq(int, chmod(root, 0700), 0));
}

Test(disk_troubles, does_not_follow_a_link_for_a_slash_at_its_end)
{
    char real[96], path[96];
    tj_disk_store *store;
    const tj_key key = key_of("one");

    snprintf(real, sizeof real, "%s/real", root);
    snprintf(path, sizeof path, "%s/link", root);
    cr_assert(eq(int, mkdir(real, 0700), 0));
    cr_assert(eq(int, symlink(real, path), 0));
    strcat(path, "/");
    store = tj_disk_store_create(path, NULL, 1 << 20, &test_log);
    put(store, &key, "ptx");
    cr_expect(eq(int, get(store, &key, "ptx"), 0));
    cr_expect(eq(int, warnings, 1));
    tj_disk_store_free(store);
}

Test(disk_troubles, refuses_the_folder_and_the_files_of_another_user)
{
    const tj_key key = key_of("one");
    tj_disk_store *store = open_store(1 << 20);
    char path[256];

    if (geteuid() != 0) {
        tj_disk_store_free(store);
        cr_skip("only root can give a folder away");
    }
    put(store, &key, "ptx");
    entry_path(&key, "kernel.cubin", path);
    cr_assert(eq(int, chown(path, 65534, 65534), 0));
    cr_expect(eq(int, get(store, &key, "ptx"), 0), "a file of another user");
    put(store, &key, "ptx");
    cr_assert(eq(int, chmod(path, 0622), 0));
    cr_expect(eq(int, get(store, &key, "ptx"), 0), "a file that others can write");
    put(store, &key, "ptx");
    cr_expect(eq(int, get(store, &key, "ptx"), 1));
    cr_assert(eq(int, chown(root, 65534, 65534), 0));
    cr_expect(eq(int, get(store, &key, "ptx"), 0), "a root of another user");
    tj_disk_store_free(store);
}

static int fill_a_tiny_disk(void)
{
    char content[40000], name[8];
    tj_disk_store *store;
    tj_key key;
    int stored = 0, faults = 0;

    if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", root, "tmpfs", 0, "size=256k,mode=0700") != 0)
        return 77;
    memset(content, 'x', sizeof content - 1);
    content[sizeof content - 1] = '\0';
    store = open_store(1 << 20);
    for (int i = 0; i < 12; i++) {
        snprintf(name, sizeof name, "%d", i);
        key = key_of(name);
        put(store, &key, content);
        stored += get(store, &key, content) == 1;
        faults += get(store, &key, content) < 0;
    }
    faults += stored == 0 || stored > 6 || warnings != 1;
    faults += tj_disk_store_clear(store, false, NULL, NULL) != TJ_OK;
    for (int i = 0; i < 70; i++) /* the refused publishes pass, then the space is found again */
        put(store, &key, content);
    faults += get(store, &key, content) != 1;
    tj_disk_store_free(store);
    return faults;
}

Test(disk_troubles, goes_on_with_a_full_disk_and_uses_it_again_when_there_is_space)
{
    const int answer = in_child(fill_a_tiny_disk);

    if (answer == 77)
        cr_skip("a tmpfs cannot be mounted here");
    cr_assert(eq(int, answer, 0));
}
