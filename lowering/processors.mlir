// The code that looks which processors run the threads of a team, and keeps them apart. It follows
// that of threads.mlir in one module: glow/lowering/threads.py has the layout of a team.

llvm.func @sched_getcpu() -> i32
llvm.func @clock_gettime(i32, !ptr) -> i32
llvm.func @pthread_getaffinity_np(i64, i64, !ptr) -> i32
llvm.func @pthread_setaffinity_np(i64, i64, !ptr) -> i32
llvm.func @memcmp(!ptr, !ptr, i64) -> i32
llvm.func @memcpy(!ptr, !ptr, i64) -> !ptr

// Writes the number of the processor that runs this thread, and 1.
llvm.func @glow_note_processor(%line: !ptr) {
  %single = llvm.mlir.constant(1 : i32) : i32
  %processor_at = llvm.getelementptr %line[56] : (!ptr) -> !ptr, i8
  %number = llvm.call @sched_getcpu() : () -> i32
  %processor = llvm.add %number, %single : i32
  %before = llvm.load %processor_at atomic monotonic {alignment = 4 : i64} : !ptr -> i32
  %has_moved = llvm.icmp "ne" %before, %processor : i32
  llvm.cond_br %has_moved, ^moved, ^done
^moved:
  %old = llvm.atomicrmw xchg %processor_at, %processor monotonic : !ptr, i32
  llvm.br ^done
^done:
  llvm.return
}

// Returns whether a thread with a lower number has noted the same processor.
llvm.func @glow_shares_processor(%team: !ptr, %line: !ptr) -> i1 {
  %zero = llvm.mlir.constant(0) : i64
  %one = llvm.mlir.constant(1) : i64
  %no = llvm.mlir.constant(false) : i1
  %lines = llvm.getelementptr %team[256] : (!ptr) -> !ptr, i8
  %thread_at = llvm.getelementptr %line[16] : (!ptr) -> !ptr, i8
  %thread = llvm.load %thread_at {alignment = 8 : i64} : !ptr -> i64
  %here_at = llvm.getelementptr %line[56] : (!ptr) -> !ptr, i8
  %here = llvm.load %here_at atomic monotonic {alignment = 4 : i64} : !ptr -> i32
  llvm.br ^before(%zero : i64)
^before(%t: i64):
  %is_before = llvm.icmp "ult" %t, %thread : i64
  llvm.cond_br %is_before, ^compare, ^done(%no : i1)
^compare:
  %other = llvm.getelementptr %lines[%t] : (!ptr, i64) -> !ptr, !line
  %there_at = llvm.getelementptr %other[56] : (!ptr) -> !ptr, i8
  %there = llvm.load %there_at atomic monotonic {alignment = 4 : i64} : !ptr -> i32
  %is_equal = llvm.icmp "eq" %here, %there : i32
  %next = llvm.add %t, %one : i64
  llvm.cond_br %is_equal, ^done(%is_equal : i1), ^before(%next : i64)
^done(%result: i1):
  llvm.return %result : i1
}

// Takes the processors that other threads have noted out of the affinity of a worker, which stays
// as it is if none would be left.
llvm.func @glow_leave_processors(%team: !ptr, %line: !ptr) {
  %zero = llvm.mlir.constant(0) : i64
  %one = llvm.mlir.constant(1) : i64
  %none = llvm.mlir.constant(0 : i32) : i32
  %single = llvm.mlir.constant(1 : i32) : i32
  %bytes = llvm.mlir.constant(128) : i64
  %processors = llvm.mlir.constant(1024) : i64
  %log_word = llvm.mlir.constant(6) : i64
  %last_bit = llvm.mlir.constant(63) : i64
  %ones = llvm.mlir.constant(-1) : i64
  %lines = llvm.getelementptr %team[256] : (!ptr) -> !ptr, i8
  %threads_at = llvm.getelementptr %team[160] : (!ptr) -> !ptr, i8
  %threads = llvm.load %threads_at {alignment = 8 : i64} : !ptr -> i64
  %thread_at = llvm.getelementptr %line[16] : (!ptr) -> !ptr, i8
  %thread = llvm.load %thread_at {alignment = 8 : i64} : !ptr -> i64
  %self_at = llvm.getelementptr %line[64] : (!ptr) -> !ptr, i8
  %self = llvm.load %self_at atomic monotonic {alignment = 8 : i64} : !ptr -> i64
  %is_apart_at = llvm.getelementptr %line[72] : (!ptr) -> !ptr, i8
  %is_apart = llvm.load %is_apart_at {alignment = 4 : i64} : !ptr -> i32
  %allowed = llvm.getelementptr %line[128] : (!ptr) -> !ptr, i8
  %left = llvm.getelementptr %line[256] : (!ptr) -> !ptr, i8
  %mask = llvm.alloca %bytes x i8 {alignment = 8 : i64} : (i64) -> !ptr
  %unknown = llvm.call @pthread_getaffinity_np(%self, %bytes, %mask) : (i64, i64, !ptr) -> i32
  %is_unknown = llvm.icmp "ne" %unknown, %none : i32
  llvm.cond_br %is_unknown, ^done, ^check
^check:
  %difference = llvm.call @memcmp(%mask, %left, %bytes) : (!ptr, !ptr, i64) -> i32
  %was_apart = llvm.icmp "ne" %is_apart, %none : i32
  %is_left = llvm.icmp "eq" %difference, %none : i32
  %is_own = llvm.and %was_apart, %is_left : i1
  llvm.cond_br %is_own, ^choose, ^learn
^learn:
  %learned = llvm.call @memcpy(%allowed, %mask, %bytes) : (!ptr, !ptr, i64) -> !ptr
  llvm.br ^choose
^choose:
  %copied = llvm.call @memcpy(%mask, %allowed, %bytes) : (!ptr, !ptr, i64) -> !ptr
  llvm.br ^each(%zero : i64)
^each(%t: i64):
  %is_thread = llvm.icmp "ult" %t, %threads : i64
  llvm.cond_br %is_thread, ^look, ^set
^look:
  %next = llvm.add %t, %one : i64
  %other = llvm.getelementptr %lines[%t] : (!ptr, i64) -> !ptr, !line
  %is_itself = llvm.icmp "eq" %t, %thread : i64
  %there_at = llvm.getelementptr %other[56] : (!ptr) -> !ptr, i8
  %there = llvm.load %there_at atomic monotonic {alignment = 4 : i64} : !ptr -> i32
  %wide = llvm.zext %there : i32 to i64
  %noted = llvm.sub %wide, %one : i64
  %number = llvm.select %is_itself, %processors, %noted : i1, i64
  %is_in_mask = llvm.icmp "ult" %number, %processors : i64
  llvm.cond_br %is_in_mask, ^take, ^each(%next : i64)
^take:
  %word = llvm.lshr %number, %log_word : i64
  %word_at = llvm.getelementptr %mask[%word] : (!ptr, i64) -> !ptr, i64
  %place = llvm.and %number, %last_bit : i64
  %bit = llvm.shl %one, %place : i64
  %others = llvm.xor %bit, %ones : i64
  %old = llvm.load %word_at {alignment = 8 : i64} : !ptr -> i64
  %new = llvm.and %old, %others : i64
  llvm.store %new, %word_at {alignment = 8 : i64} : i64, !ptr
  llvm.br ^each(%next : i64)
^set:
  // this fails if no processor is left
  %failure = llvm.call @pthread_setaffinity_np(%self, %bytes, %mask) : (i64, i64, !ptr) -> i32
  %is_set = llvm.icmp "eq" %failure, %none : i32
  llvm.cond_br %is_set, ^keep, ^done
^keep:
  %kept = llvm.call @memcpy(%left, %mask, %bytes) : (!ptr, !ptr, i64) -> !ptr
  llvm.store %single, %is_apart_at {alignment = 4 : i64} : i32, !ptr
  llvm.br ^done
^done:
  llvm.return
}

// Keeps a worker, which sleeps or is the thread that calls this, off the processors of its team,
// unless other programs keep them busy. Does nothing for thread 0.
llvm.func @glow_keep_apart(%team: !ptr, %line: !ptr) {
  %zero = llvm.mlir.constant(0) : i64
  %none = llvm.mlir.constant(0 : i32) : i32
  %bytes = llvm.mlir.constant(128) : i64
  %few = llvm.mlir.constant(3) : i64
  %self_at = llvm.getelementptr %line[64] : (!ptr) -> !ptr, i8
  %self = llvm.load %self_at atomic monotonic {alignment = 8 : i64} : !ptr -> i64
  %is_worker = llvm.icmp "ne" %self, %zero : i64
  llvm.cond_br %is_worker, ^worker, ^done
^worker:
  %is_apart_at = llvm.getelementptr %line[72] : (!ptr) -> !ptr, i8
  %apart = llvm.load %is_apart_at {alignment = 4 : i64} : !ptr -> i32
  %is_apart = llvm.icmp "ne" %apart, %none : i32
  %long_at = llvm.getelementptr %line[80] : (!ptr) -> !ptr, i8
  %long = llvm.load %long_at atomic monotonic {alignment = 8 : i64} : !ptr -> i64
  %first_long_at = llvm.getelementptr %team[336] : (!ptr) -> !ptr, i8
  %first_long = llvm.load %first_long_at atomic monotonic {alignment = 8 : i64} : !ptr -> i64
  %sum = llvm.add %long, %first_long : i64
  %is_busy = llvm.icmp "uge" %sum, %few : i64
  llvm.cond_br %is_busy, ^busy, ^quiet
^busy:
  llvm.cond_br %is_apart, ^free, ^done
^free:
  %allowed = llvm.getelementptr %line[128] : (!ptr) -> !ptr, i8
  %status = llvm.call @pthread_setaffinity_np(%self, %bytes, %allowed) : (i64, i64, !ptr) -> i32
  llvm.store %none, %is_apart_at {alignment = 4 : i64} : i32, !ptr
  llvm.br ^done
^quiet:
  llvm.cond_br %is_apart, ^look, ^leave
^look:
  %shares = llvm.call @glow_shares_processor(%team, %line) : (!ptr, !ptr) -> i1
  llvm.cond_br %shares, ^leave, ^done
^leave:
  llvm.call @glow_leave_processors(%team, %line) : (!ptr, !ptr) -> ()
  llvm.br ^done
^done:
  llvm.return
}

// Returns the time of a clock that only moves forward, in nanoseconds.
llvm.func @glow_nanoseconds() -> i64 {
  %monotonic = llvm.mlir.constant(1 : i32) : i32
  %two = llvm.mlir.constant(2) : i64
  %billion = llvm.mlir.constant(1000000000) : i64
  %time = llvm.alloca %two x i64 {alignment = 8 : i64} : (i64) -> !ptr
  %status = llvm.call @clock_gettime(%monotonic, %time) : (i32, !ptr) -> i32
  %rest_at = llvm.getelementptr %time[8] : (!ptr) -> !ptr, i8
  %seconds = llvm.load %time {alignment = 8 : i64} : !ptr -> i64
  %rest = llvm.load %rest_at {alignment = 8 : i64} : !ptr -> i64
  %whole = llvm.mul %seconds, %billion : i64
  %result = llvm.add %whole, %rest : i64
  llvm.return %result : i64
}

// Counts a sleep in a call of more than a millisecond, which began at `start`, if the thread that
// was waited for has a processor of its own.
llvm.func @glow_count_sleep(%line: !ptr, %other: !ptr, %start: i64) {
  %one = llvm.mlir.constant(1) : i64
  %millisecond = llvm.mlir.constant(1000000) : i64
  %end = llvm.call @glow_nanoseconds() : () -> i64
  %slept = llvm.sub %end, %start : i64
  %is_long = llvm.icmp "ugt" %slept, %millisecond : i64
  %here_at = llvm.getelementptr %line[56] : (!ptr) -> !ptr, i8
  %there_at = llvm.getelementptr %other[56] : (!ptr) -> !ptr, i8
  %here = llvm.load %here_at atomic monotonic {alignment = 4 : i64} : !ptr -> i32
  %there = llvm.load %there_at atomic monotonic {alignment = 4 : i64} : !ptr -> i32
  %is_apart = llvm.icmp "ne" %here, %there : i32
  %counts = llvm.and %is_long, %is_apart : i1
  llvm.cond_br %counts, ^count, ^done
^count:
  %long_at = llvm.getelementptr %line[80] : (!ptr) -> !ptr, i8
  %long = llvm.load %long_at atomic monotonic {alignment = 8 : i64} : !ptr -> i64
  %longer = llvm.add %long, %one : i64
  %before = llvm.atomicrmw xchg %long_at, %longer monotonic : !ptr, i64
  llvm.br ^done
^done:
  llvm.return
}
